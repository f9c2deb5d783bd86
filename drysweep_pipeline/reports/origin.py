"""Where in git a campaign's material lies, so that others can find the file that a finding names.

Nothing of this machine is in it: no path above the checkout, and of a remote's address neither name nor password.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial
from drysweep_pipeline.durable import read_json
from drysweep_pipeline.engine.campaign import find
from drysweep_pipeline.errors import IntegrityError, MaterialError
from drysweep_pipeline.home import Home
from drysweep_pipeline.material.git import checkout, said
from drysweep_pipeline.material.paths import locate
from drysweep_pipeline.material.snapshot import MANIFEST

# As ssh takes it: [user@]host:path.
_SHORT = re.compile(r"(?:[\w.-]+@)?([A-Za-z0-9.-]+):/?([^:/][^:]*)")


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a git checkout: ``prefix`` leads from its top to the material, and is empty or ends in a slash.

    ``revision`` is the commit that the campaign's last snapshot was taken at, None where that is not known any more;
    ``dirty`` counts the files that were not as it has them. ``address`` is the remote ``origin``, as a URI.
    """

    prefix: str
    revision: str | None
    dirty: int
    address: str | None


def origin_of(home: Home, sweep: str, campaign: str, digest: str | None) -> Origin | None:
    """Return where the material lies in git; None where it does not, or nobody can tell any more."""
    if (recorded := find(home, sweep, campaign)) is None:
        return None
    material = recorded.declaration.sweep.material
    if not isinstance(material, FilesMaterial | RegistryMaterial):
        return None
    try:
        path = locate(material.path, recorded.declaration.path.parent, recorded.as_of).path
        found = checkout(path) if path.is_dir() else None
    except (MaterialError, OSError):
        return None
    if found is None:
        return None
    revision, dirty = _committed(home.sweep(sweep).snapshots / digest if digest else None)
    return Origin(found.prefix, revision, dirty, _address(path))


def _committed(snapshot: Path | None) -> tuple[str | None, int]:
    """Return the commit of a snapshot, and how many files were not as it has them."""
    try:
        about = read_json(snapshot / MANIFEST).get("git", {}) if snapshot else {}
    except (OSError, IntegrityError):
        return None, 0
    return about.get("revision"), int(about.get("dirty", 0))


def _address(folder: Path) -> str | None:
    try:
        return address_of(said(folder, "config", "--get", "remote.origin.url"))
    except MaterialError:
        return None


def address_of(remote: str) -> str | None:
    """Return the address of a remote as a URI without name, password or query; None for a path of this machine."""
    if short := _SHORT.fullmatch(remote):
        remote = f"ssh://{short[1]}/{short[2]}"
    try:
        parts = urlsplit(remote)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    if parts.scheme not in ("https", "http", "ssh", "git") or not parts.hostname:
        return None
    return urlunsplit((parts.scheme, parts.hostname + port, quote(parts.path, safe="/%"), "", ""))
