"""Real git repositories for tests, made with the git program and no configuration but what is given here."""

import os
import subprocess
from pathlib import Path

import pytest

# Nothing of the machine's own git is to be seen, and dates stay put. What a commit would have put in order
# afterwards, by a process of its own that goes on when the commit has ended, is left as it is.
_QUIET = ("-c", "maintenance.auto=false", "-c", "gc.auto=0")
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints."""
    named = ("-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=main")
    command = ["git", *_QUIET, *named, "-C", str(folder), *arguments]
    done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(folder: Path, files: dict[str, str]) -> Path:
    """Make a repository with one commit that holds some files, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    commit(folder, files)
    return folder


def commit(folder: Path, files: dict[str, str]) -> str:
    """Write files, commit them, and return the commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--", *files)
    git(folder, "commit", "-q", "--allow-empty", "-m", "a commit")
    return git(folder, "rev-parse", "HEAD")


def kept(folder: Path) -> dict[str, object]:
    """Return all that a repository's owner has: files with bytes and times, objects by name, and what git says."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    objects = folder / ".git" / "objects"
    return {
        "files": {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files if objects not in path.parents
        },
        "objects": [(str(path), path.read_bytes()) for path in files if objects in path.parents],
        "said": [git(folder, *about) for about in (("worktree", "list"), ("stash", "list"), ("show-ref",))],
    }


needs_git = pytest.mark.skipif(
    not any((Path(folder) / "git").exists() for folder in os.get_exec_path()), reason="there is no git here"
)
