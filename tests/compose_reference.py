"""The reference findings of the compose catalogue against ours: which rules correspond, and why the two differ.

The reference was made by mechanical rules, one leaf at a time. A cause is a predicate over the material, written
apart from the sweep's SQL; no row is listed anywhere.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

Finding = tuple[str, str, str]

RULES = {
    "image-latest": "image_tag_latest",
    "image-no-tag": "image_tag_missing",
    "host-port-published": "host_port_published",
    "docker-sock": "docker_socket_mounted",
    "container-name-fixed": "container_name_fixed",
    "depends-on-missing": "depends_on_missing",
    "route-port-not-exposed": "route_port_not_exposed",
    "meta-version-drift": "charter_version_differs",
    "meta-says-latest-image-pinned": "charter_says_latest",
    "meta-duplicate-id": "charter_entry_repeated",
    "toml-unparseable": "charter_unreadable",
    "template-missing": "charter_missing",
    "undeclared-in-meta": "charter_missing",
}
# House style, dead links and leftovers: the sweep does not look for them.
OUT_OF_SCOPE = {
    "no-healthcheck",
    "obsolete-version-key",
    "no-restart",
    "volume-unused",
    "meta-link-missing",
    "meta-link-plain-http",
}
_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}")


def reference(path: Path) -> set[Finding]:
    """Return the reference findings that the sweep looks for, as it would name them."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["rule"] for row in rows} <= set(RULES) | OUT_OF_SCOPE
    return {(row["blueprint"], row["service"] or "-", RULES[row["rule"]]) for row in rows if row["rule"] in RULES}


@dataclass(frozen=True)
class Lifetimes:
    """From when to when the reference held each finding open, commit by commit; ``days`` are the instants of dates."""

    spans: dict[Finding, list[tuple[datetime, datetime | None]]]
    days: dict[str, datetime]

    @classmethod
    def of(cls, folder: Path) -> "Lifetimes":
        spans: dict[Finding, list[tuple[datetime, datetime | None]]] = {}
        with (folder / "finding_lifetimes.csv").open() as file:
            for row in csv.DictReader(file):
                if row["rule"] in RULES:
                    closed = datetime.fromisoformat(row["closed_at"]) if row["closed_at"] else None
                    found = (row["blueprint"], row["service"] or "-", RULES[row["rule"]])
                    spans.setdefault(found, []).append((datetime.fromisoformat(row["opened_at"]), closed))
        index = json.loads((folder / "snapshots" / "index.json").read_text())
        return cls(spans, {each["date"]: datetime.fromisoformat(each["committed_at"]) for each in index})

    def __contains__(self, found: object) -> bool:
        return found in self.spans

    def is_open(self, found: Finding, date: str) -> bool:
        """Tell whether the reference held a finding open when a date's snapshot was taken."""
        at = self.days[date]
        return any(opened <= at and (closed is None or closed > at) for opened, closed in self.spans.get(found, []))


@dataclass(frozen=True)
class Catalogue:
    """What compose files and charters say, read from a snapshot's tables into dictionaries by blueprint."""

    compose: dict[str, dict[str, str]]
    charter: dict[str, dict[str, str]]

    @classmethod
    def of(cls, database: Path) -> "Catalogue":
        with duckdb.connect(database, read_only=True) as connection:
            return cls(*(_by_service(connection.execute(f"select * from {name}").fetchall()) for name in TABLES))

    def images(self, blueprint: str) -> dict[str, str]:
        """Return the image of each service, as it is written."""
        found = {re.fullmatch("services/([^/]+)/image", key): value for key, value in self.compose[blueprint].items()}
        return {match[1]: value for match, value in found.items() if match}

    def filled(self, blueprint: str, image: str) -> str:
        """Return an image with the variables that the template sets, and else with their defaults."""
        charter = self.charter[blueprint]
        lines = [value for key, value in charter.items() if re.fullmatch(r"config/env/\d+", key) and "=" in value]
        env = dict(line.split("=", 1) for line in lines)
        env |= {key.removeprefix("config/env/"): value for key, value in charter.items() if "config/env/" in key}

        def value(match: re.Match[str]) -> str:
            said = env.get(match[1], "")
            inner = _VARIABLE.fullmatch(said)
            said = charter.get(f"variables/{inner[1]}", said) if inner else said
            return said or match[2] or match[0]

        return _VARIABLE.sub(value, image)

    def is_built(self, blueprint: str) -> bool:
        """Tell whether a service of the blueprint is built where it runs and has no image."""
        built = {key.split("/")[1] for key in self.compose[blueprint] if re.match("services/[^/]+/build(/|$)", key)}
        return not built <= set(self.images(blueprint))


TABLES = ("live", "charter")


def _by_service(rows: Iterable[tuple[str, str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for service, key, value in rows:
        found.setdefault(service, {})[key] = value
    return found


def _tag(image: str) -> str:
    return image.split("@")[0].rpartition("/")[2].partition(":")[2]


def _version(catalogue: Catalogue, blueprint: str) -> str:
    return catalogue.charter[blueprint]["version"].lower().removeprefix("v")


def _carries(version: str, tag: str) -> bool:
    """Tell whether a tag holds a version as a part of its own."""
    return bool(re.search(rf"(?<![0-9a-z.])v?{re.escape(version)}(?![0-9a-z])", tag.lower()))


def set_to_latest(catalogue: Catalogue, found: Finding) -> bool:
    """The tag is a variable, and the template sets it to latest."""
    written = catalogue.images(found[0]).get(found[1], "")
    by_default = _VARIABLE.sub(lambda match: match[2] or match[0], written)
    return _tag(catalogue.filled(found[0], written)) == "latest" and _tag(by_default) != "latest"


def latest_is_a_default(catalogue: Catalogue, found: Finding) -> bool:
    """The default of a variable ends in latest, though not as ``:${NAME:-latest}``."""
    written = catalogue.images(found[0]).get(found[1], "")
    return bool(re.search(r"\$\{\w+(:-[^}]*:|-)latest\}$", written))


def mount_of_no_service(catalogue: Catalogue, found: Finding) -> bool:
    """A mount of the template names a service that compose does not have; no reference rule looks."""
    named = {value for key, value in catalogue.charter[found[0]].items() if re.match(r"config/mounts/\d+/serv", key)}
    return found[1] in named and not any(key.startswith(f"services/{found[1]}/") for key in catalogue.compose[found[0]])


def version_inside_the_tag(catalogue: Catalogue, found: Finding) -> bool:
    """An image carries the version behind a prefix or before a suffix: apache-1.2 is a 1.2."""
    version = _version(catalogue, found[0])
    return any(_carries(version, _tag(image)) for image in catalogue.images(found[0]).values() if "$" not in image)


def version_by_variable(catalogue: Catalogue, found: Finding) -> bool:
    """An image carries the version once its variables are filled in, and not before."""
    version = _version(catalogue, found[0])
    written = [image for image in catalogue.images(found[0]).values() if "$" in image]
    return any(_carries(version, _tag(catalogue.filled(found[0], image))) for image in written)


def version_written_otherwise(catalogue: Catalogue, found: Finding) -> bool:
    """The version has a note behind it, or the tag has underscores for its dots."""
    version = _version(catalogue, found[0]).split()[0]
    return any(_carries(version, _tag(image).replace("_", ".")) for image in catalogue.images(found[0]).values())


def built_where_it_runs(catalogue: Catalogue, found: Finding) -> bool:
    """A service has no image to compare a version with, since it is built."""
    return catalogue.is_built(found[0])


def untagged_is_latest(catalogue: Catalogue, found: Finding) -> bool:
    """The catalogue says latest, and an image without a tag is the latest."""
    return any(_tag(image) == "" and "$" not in image for image in catalogue.images(found[0]).values())


def runs_latest_by_variable(catalogue: Catalogue, found: Finding) -> bool:
    """The catalogue says latest, and so does the template, through a variable."""
    written = [image for image in catalogue.images(found[0]).values() if "$" in image]
    return any(_tag(catalogue.filled(found[0], image)) == "latest" for image in written)


def colon_of_a_default(catalogue: Catalogue, found: Finding) -> bool:
    """The only colon in a port is that of a variable's default: nothing is published at a fixed port."""
    place = re.compile(rf"services/{re.escape(found[1])}/ports/\d+")
    ports = [value for key, value in catalogue.compose[found[0]].items() if place.fullmatch(key)]
    return bool(ports) and not any(":" in _VARIABLE.sub("0", port) for port in ports)


def image_is_a_variable(catalogue: Catalogue, found: Finding) -> bool:
    """The whole image is a variable, which the template sets to an image with a tag."""
    written = catalogue.images(found[0]).get(found[1], "")
    return bool(_VARIABLE.fullmatch(written)) and _tag(catalogue.filled(found[0], written)) != ""


@dataclass(frozen=True)
class Cause:
    """Why findings of one failure mode are on one side only; ``holds`` decides it from the material."""

    side: str
    failure_mode: str
    holds: Callable[[Catalogue, Finding], bool]

    @property
    def name(self) -> str:
        return self.holds.__name__


# A difference has the first cause that holds.
CAUSES = (
    Cause("ours", "image_tag_latest", set_to_latest),
    Cause("ours", "image_tag_latest", latest_is_a_default),
    Cause("ours", "charter_mount_unknown_service", mount_of_no_service),
    Cause("theirs", "charter_version_differs", version_inside_the_tag),
    Cause("theirs", "charter_version_differs", version_by_variable),
    Cause("theirs", "charter_version_differs", version_written_otherwise),
    Cause("theirs", "charter_version_differs", built_where_it_runs),
    Cause("theirs", "charter_says_latest", untagged_is_latest),
    Cause("theirs", "charter_says_latest", runs_latest_by_variable),
    Cause("theirs", "charter_says_latest", built_where_it_runs),
    Cause("theirs", "host_port_published", colon_of_a_default),
    Cause("theirs", "image_tag_missing", image_is_a_variable),
)


def cause_of(catalogue: Catalogue, side: str, found: Finding) -> Cause | None:
    """Return why a finding is on one side only, or None where no cause explains it."""
    wanted = (cause for cause in CAUSES if (cause.side, cause.failure_mode) == (side, found[2]))
    return next((cause for cause in wanted if cause.holds(catalogue, found)), None)
