"""``drysweep ui``: Dagster's pages on loopback, read-only unless asked otherwise."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, home_of, project_root
from drysweep_pipeline.errors import DrysweepError, Refused
from drysweep_pipeline.home import Home

# Under a name of its own, since Dagster would show the module's beside every asset.
_HOME_ALONE = """\
load_from:
  - python_module: {module_name: drysweep_pipeline.orchestration.location, location_name: drysweep}
"""
_STDERR = 2
_BETWEEN_LOOKS = 0.1


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port on 127.0.0.1.")] = 3000,
    write: Annotated[bool, typer.Option(help="Let anyone on this machine start and stop things.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Open Dagster's pages on this machine, read-only.

    Until it is interrupted. With --json, one object says where they are once they answer.

    Example: drysweep ui --port 3100
    """
    from drysweep_pipeline.cli.output import note, put_json
    from drysweep_pipeline.orchestration.instance import prepare

    place = home_of(home)
    _check_port(port)
    prepare(place)
    workspace = _workspace(place)
    url = f"http://127.0.0.1:{port}"
    with _server(place, workspace, port, write=write, json=json) as process:
        answered = False
        try:
            _await_answer(process, port)
            answered = True
            note(f"{url}{'' if write else ' (read-only; --write to change things)'}")
            if json:
                put_json(_told(url, place, workspace, write=write))
            _await_end(process)
        except KeyboardInterrupt:
            # The server ends its own code servers when it is asked to; killed, it would leave them behind.
            process.terminate()
            process.wait()
            if not answered:
                raise
    note(f"{url} is closed")
    return 0


def _server(home: Home, workspace: Path, port: int, *, write: bool, json: bool) -> subprocess.Popen[bytes]:
    """Start the server; what it says goes where it goes, but never between what is JSON."""
    environment = {**os.environ, "DRYSWEEP_HOME": str(home.root)}
    access = [] if write else ["--read-only"]
    listening = ["-h", "127.0.0.1", "-p", str(port), *access, "-w", str(workspace)]
    command = [sys.executable, "-m", "dagster_webserver", *listening]
    # Our own interpreter and arguments.
    return subprocess.Popen(command, env=environment, stdout=_STDERR if json else None)  # noqa: S603


def _await_answer(process: subprocess.Popen[bytes], port: int) -> None:
    """Return once a server takes connections. Raises ``DrysweepError`` where it ends instead."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(_BETWEEN_LOOKS)
        else:
            return
    _await_end(process)
    raise DrysweepError("Dagster's pages ended before they answered", help="what the server said is on stderr")


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """Return once a server ended as it should. Raises ``DrysweepError`` where it did not."""
    if code := process.wait():
        what = f"Dagster's pages ended with exit code {code}"
        raise DrysweepError(what, help="its last lines above say why")


def _told(url: str, home: Home, workspace: Path, *, write: bool) -> dict[str, Any]:
    folders = {"home": str(home.root), "dagster_home": str(home.dagster), "workspace": str(workspace)}
    return {"schema_version": 1, "url": url, "read_only": not write, **folders}


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
    from drysweep_pipeline.durable import write_text

    declared = project_root() / "workspace.yaml"
    if declared.exists():
        return declared
    made = home.dagster / "workspace.yaml"
    write_text(made, _HOME_ALONE)
    return made
