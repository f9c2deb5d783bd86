"""Dagster's pages, opened as a program opens them and closed as a person closes them."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.daemon


def test_the_pages_say_where_they_are_once_they_answer_and_close_when_they_are_interrupted(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path / "home"
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "ui", "--json", "--port", str(port), "--home", str(home)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said == {
            "schema_version": 1,
            "url": f"http://127.0.0.1:{port}",
            "read_only": True,
            "home": str(home),
            "dagster_home": str(home / "dagster"),
            "workspace": str(home / "dagster" / "workspace.yaml"),
        }
        with urllib.request.urlopen(f"{said['url']}/server_info") as answer:
            assert "dagster_webserver_version" in json.load(answer)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, b""), err.decode()[-2000:]
    assert err.decode().splitlines()[-1] == f"{said['url']} is closed"
