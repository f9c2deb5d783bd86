"""``drysweep ui``: Dagster's pages on loopback, read-only unless asked otherwise."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import HomeOption, home_of, project_root
from drysweep_pipeline.errors import Refused


def ui(
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1.")] = 3000,
    write: Annotated[bool, typer.Option(help="Let anyone on this machine start and stop things.")] = False,
    home: HomeOption = None,
) -> int:
    """Open Dagster's pages on this machine, read-only."""
    from drysweep_pipeline.cli.output import note
    from drysweep_pipeline.orchestration.instance import prepare

    place = home_of(home)
    _check_port(port)
    prepare(place)
    environment = {**os.environ, "DRYSWEEP_HOME": str(place.root)}
    access = [] if write else ["--read-only"]
    note(f"http://127.0.0.1:{port}{'' if write else ' (read-only; --write to change things)'}")
    command = [sys.executable, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), *access, *_location()]
    with subprocess.Popen(command, env=environment) as process:  # noqa: S603 - our own interpreter and arguments
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The server ends its own code servers when it is asked to; killed, it would leave them behind.
            process.terminate()
            process.wait()
            raise


def _check_port(port: int) -> None:
    """Raise ``Refused`` where something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Refused(f"port {port} cannot be used: {error.strerror}", key="port", help="give --port") from None


def _location() -> list[str]:
    """Return how to load the sweeps: the project's own code location, else what the home has seen."""
    workspace: Path = project_root() / "workspace.yaml"
    if workspace.exists():
        return ["-w", str(workspace)]
    return ["-m", "drysweep_pipeline.orchestration.location"]
