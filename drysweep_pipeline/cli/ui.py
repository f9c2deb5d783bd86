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
from drysweep_pipeline.home import Home

# Under a name of its own, since Dagster would show the module's beside every asset.
_HOME_ALONE = """\
load_from:
  - python_module: {module_name: drysweep_pipeline.orchestration.location, location_name: drysweep}
"""


def ui(
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1.")] = 3000,
    write: Annotated[bool, typer.Option(help="Let anyone on this machine start and stop things.")] = False,
    home: HomeOption = None,
) -> int:
    """Open Dagster's pages on this machine, read-only.

    Example: drysweep ui --port 3100
    """
    from drysweep_pipeline.cli.output import note
    from drysweep_pipeline.orchestration.instance import prepare

    place = home_of(home)
    _check_port(port)
    prepare(place)
    environment = {**os.environ, "DRYSWEEP_HOME": str(place.root)}
    access = [] if write else ["--read-only"]
    note(f"http://127.0.0.1:{port}{'' if write else ' (read-only; --write to change things)'}")
    listening = ["-h", "127.0.0.1", "-p", str(port), *access, "-w", str(_workspace(place))]
    command = [sys.executable, "-m", "dagster_webserver", *listening]
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


def _workspace(home: Home) -> Path:
    """Return the file that says what to load: the project's own, else one that loads what the home has seen."""
    from drysweep_pipeline.durable import write_whole

    declared = project_root() / "workspace.yaml"
    if declared.exists():
        return declared
    made = home.dagster / "workspace.yaml"
    write_whole(made, lambda part: _put(part, _HOME_ALONE))
    return made


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
