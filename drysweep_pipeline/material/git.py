"""Material that lies in a git work tree: the commit that is checked out, what it holds, and a copy with a fix reverted.

git is asked with arguments, never through a shell, and told to run nothing that a repository brings along: no hooks, no
monitor, no pager, no filter, no fetch. Of the user's repository it only reads; a fix is reverted in a repository of our
own, which borrows the user's objects and is thrown away.
"""

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from drysweep_pipeline.errors import MaterialError

LONGEST_RANGE = 100
_SECONDS = 300.0
_NOWHERE = os.devnull
# Names of commits as people write them; none can be taken for an option, a path or a search.
_NAME = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_./+~^-]*")
_ASKED = (
    *("git", "--no-pager", "--literal-pathspecs"),
    # Whoever owns the checkout: nothing that is asked here runs what its owner could have put there.
    *("-c", "safe.directory=*"),
    *("-c", f"core.hooksPath={_NOWHERE}", "-c", "core.fsmonitor=false", "-c", f"core.attributesFile={_NOWHERE}"),
    *("-c", "core.logAllRefUpdates=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    # A signature is checked by a program that the repository may name.
    *("-c", "log.showSignature=false"),
    *("-c", "commit.gpgSign=false", "-c", "user.name=drysweep", "-c", "user.email=drysweep@localhost"),
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    # A path that holds nothing: what a repository names below the home must not be an error either.
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": _NOWHERE,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "false",
}
# Whatever the tree says of any path: bytes as committed, and a merge that conflicts where lines do. git refuses an
# encoding that is unset, so it is unspecified; nothing is merely set, since the tree could define a macro of that name.
_AS_COMMITTED = "* -text -crlf !eol -ident -filter !working-tree-encoding merge=text !conflict-marker-size\n"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder of a git work tree; ``prefix`` is its path below the top, ``revision`` the commit that is checked out.

    ``algorithm`` is what the repository hashes with, ``sha1`` or ``sha256``.
    """

    folder: Path
    prefix: str
    revision: str
    algorithm: str


@dataclass(frozen=True, slots=True)
class Fix:
    """The commits of a fix, newest first; ``name`` is how it was recorded."""

    name: str
    commits: tuple[str, ...]


def checkout(folder: Path) -> Checkout | None:
    """Return the checkout that a folder lies in; None where there is none, no commit yet, or no git to ask."""
    try:
        # Looked for first, because most material lies in no repository and a process costs milliseconds.
        here = folder.resolve()
        if not any((above / ".git").exists() for above in (here, *here.parents)) or shutil.which("git") is None:
            return None
        inside, algorithm = said(folder, "rev-parse", "--is-inside-work-tree", "--show-object-format").split("\n")
        if inside != "true":
            return None
        prefix = said(folder, "rev-parse", "--show-prefix")
        return Checkout(folder, prefix, said(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"), algorithm)
    except (MaterialError, OSError, ValueError):
        return None


def tree(checkout: Checkout) -> dict[str, tuple[str, str]]:
    """Return (mode, object id) of all that the commit has below the folder, by path from there."""
    listed = printed(checkout.folder, "ls-tree", "-r", "-z", checkout.revision)
    entries = {}
    for entry in listed.split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, _, oid = about.decode("ascii").split(" ")
        entries[path.decode("utf-8", "backslashreplace")] = (mode, oid)
    return entries


def fix_of(checkout: Checkout, name: str) -> Fix:
    """Return the commits that a recorded fix is: one, or a range ``a..b`` without ``a``.

    Raises ``MaterialError`` where it is not known here, or a range is empty or too long.
    """
    first, range_, last = name.strip().partition("..")
    newest = _commit(checkout, last if range_ else first)
    if not range_:
        return Fix(name, (newest,))
    between = f"{_commit(checkout, first)}..{newest}"
    most = f"--max-count={LONGEST_RANGE + 1}"
    commits = tuple(said(checkout.folder, "rev-list", "--first-parent", most, between).split())
    if not 0 < len(commits) <= LONGEST_RANGE:
        raise MaterialError(f"the range {name} has {'no' if not commits else f'over {LONGEST_RANGE}'} commits")
    return Fix(name, commits)


def has(checkout: Checkout, revision: str, fix: Fix) -> bool:
    """Tell whether a revision has all of a fix in its history. Raises ``MaterialError`` where that is not known."""
    done = _run(checkout.folder, "merge-base", "--is-ancestor", fix.commits[0], revision)
    if done.returncode not in (0, 1):
        raise MaterialError(f"git cannot tell what {revision[:12]} has in its history: {_last_line(done)}")
    return done.returncode == 0


@contextmanager
def without(checkout: Checkout, revision: str, fix: Fix, scratch: Path) -> Iterator[Path]:
    """Yield a copy of the folder as it is at a revision with a fix reverted; it is removed again afterwards.

    ``scratch``: the folder that the copy is made in. Raises ``MaterialError`` where the fix cannot be reverted.
    """
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    objects = said(checkout.folder, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    with tempfile.TemporaryDirectory(prefix=".reverted.", dir=scratch) as place:
        work = Path(place, "work")
        printed(Path(place), "init", "-q", "--template=", f"--object-format={checkout.algorithm}", str(work))
        _write(work / ".git" / "objects" / "info" / "alternates", os.fsencode(objects) + b"\n")
        _write(work / ".git" / "info" / "attributes", _AS_COMMITTED.encode())
        printed(work, "checkout", "-q", "--detach", revision)
        for commit in fix.commits:
            _revert(work, commit)
        folder = work / checkout.prefix
        if folder.resolve() != work.resolve() / checkout.prefix:
            raise MaterialError(f"without {fix.name} {checkout.prefix} is a link, which may lead anywhere")
        yield folder


def _write(path: Path, what: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(what)


def _revert(work: Path, commit: str) -> None:
    parents = said(work, "rev-list", "--parents", "--max-count=1", commit).split()[1:]
    if not parents:
        raise MaterialError(f"{commit[:12]} has nothing before it that could be gone back to")
    # Reverting a merge takes back what it brought to the line it was merged into.
    mainline = ("-m", "1") if len(parents) > 1 else ()
    done = _run(work, "revert", "--no-commit", *mainline, commit)
    if done.returncode != 0:
        raise MaterialError(f"reverting {commit[:12]} conflicts with what came after it: {_last_line(done)}")


def _commit(checkout: Checkout, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise MaterialError(f"{name!r} is no name of a commit")
    done = _run(checkout.folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if done.returncode != 0:
        raise MaterialError(f"there is no commit {name!r} here")
    return done.stdout.decode("ascii").strip()


def said(folder: Path, *arguments: str) -> str:
    """Return what git says in a folder, as text. Raises ``MaterialError`` with what it complains of."""
    return os.fsdecode(printed(folder, *arguments)).removesuffix("\n")


def printed(folder: Path, *arguments: str) -> bytes:
    """Return what git prints. Raises ``MaterialError`` with what it complains of."""
    done = _run(folder, *arguments)
    if done.returncode != 0:
        raise MaterialError(f"git {arguments[0]}: {_last_line(done)}", file=folder)
    return done.stdout


@contextmanager
def printing(folder: Path, *arguments: str, given: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
    """Yield what git prints while it prints it; it is read as far as is wanted, and git ended then.

    ``given``: what it reads. Raises ``MaterialError`` where it cannot be started, or still runs after some minutes.
    """
    with tempfile.TemporaryFile() as complaints:
        try:
            # As below.
            process = subprocess.Popen(  # noqa: S603 - git, with arguments of ours and no shell
                _command(folder, arguments),
                env=_environment(),
                stdin=given or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
            )
        except OSError as error:
            raise MaterialError(f"git {arguments[0]}: {error.strerror}", file=folder) from error
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(_SECONDS, end)
        timer.daemon = True
        timer.start()
        try:
            assert process.stdout is not None
            yield process.stdout
            if late.is_set():
                raise MaterialError(f"git {arguments[0]}: still running after {_SECONDS:g} s", file=folder)
        finally:
            timer.cancel()
            process.kill()
            process.communicate()


def _command(folder: Path, arguments: Sequence[str]) -> Sequence[str]:
    return (*_ASKED, "-C", str(folder), *arguments)


def _environment() -> dict[str, str]:
    return {**_ENVIRONMENT, "PATH": os.environ.get("PATH", os.defpath)}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = _command(folder, arguments)
    try:
        # No shell, no option that comes from the repository, and an environment of our own.
        return subprocess.run(  # noqa: S603 - git, with arguments of ours and no shell
            command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise MaterialError(f"git {arguments[0]}: still running after {_SECONDS:g} s", file=folder) from None
    except OSError as error:
        raise MaterialError(f"git {arguments[0]}: {error.strerror}", file=folder) from error


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    said = [line for line in lines if line.startswith(("error:", "fatal:"))] or lines
    return said[0] if said else f"it returned {done.returncode}"
