"""The demo registry: some four hundred services on disk, with misconfigurations planted from a seed.

``generate`` writes ``services/*.yaml``, ``config/*``, ``live.json``, ``charter.yaml`` and ``modified.json``.
What it planted is returned and written nowhere.
"""

import json
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from drysweep_pipeline.demo.faults import EXCUSES, MODES, VISIBILITIES, Fault, Planted, Plantings, Visibility
from drysweep_pipeline.demo.services import (
    LEGACY_DOMAIN,
    PREFIXES,
    TEAMS,
    WINDOWS,
    Service,
    charter,
    clean_services,
    config,
    config_path,
    definition,
    definition_path,
    live,
    moment,
    pick,
    quiet_moment,
)
from drysweep_pipeline.errors import DeclarationError, Refused

_DECOYS = 6


def generate(folder: Path, *, seed: int = 7, services: int = 400, plan: Plantings | None = None) -> Planted:
    """Write a registry of ``services`` services and return what was planted in it.

    The same arguments write the same bytes, whatever the Python version. Raises ``Refused`` when the folder
    holds something, ``DeclarationError`` when the plan names an unknown visibility or needs more services.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Refused("the folder is not empty, nothing was written", file=folder, help="name a new folder")
    plan = plan or Plantings()
    rng = random.Random(seed)  # noqa: S311 - a demo has to be repeatable, not secret
    made = clean_services(rng, services)
    garden = _Garden(made, rng)
    faults = [fault for name, count in sorted(plan.faults.items()) for fault in garden.faults(name, count)]
    alarms = [garden.false_alarm(excuse) for excuse in _cycled(list(EXCUSES), plan.false_alarms)]
    garden.decoys()
    garden.rng = random.Random(seed + 1)  # noqa: S311
    extra = [fault for name in plan.extra for fault in garden.faults(name, 1)]
    _write(folder, made)
    return Planted(tuple(sorted(faults + extra)), tuple(sorted(alarms)), tuple(sorted(extra)))


def _cycled(items: list[str], count: int) -> list[str]:
    return [items[index % len(items)] for index in range(count)]


class _Garden:
    """Plants in services that are clean so far."""

    def __init__(self, services: list[Service], rng: random.Random) -> None:
        self.services, self.rng = services, rng

    def faults(self, visibility: str, count: int) -> list[Fault]:
        """Plant that many true faults; every fifth shares the service of the one before it."""
        if visibility not in VISIBILITIES:
            raise DeclarationError(f"no visibility {visibility!r}", help=f"there is {', '.join(VISIBILITIES)}")
        seen_as, planted = VISIBILITIES[visibility], []
        first = self.rng.randrange(len(seen_as.modes))
        host: Service | None = None
        for index in range(count):
            mode = seen_as.modes[(first + index) % len(seen_as.modes)]
            if host is None or index % 5 != 4 or mode in host.modes:
                host = self._host(visibility, seen_as)
            planted.append(self._plant(host, mode, seen_as, visibility))
        return planted

    def false_alarm(self, excuse: str) -> Fault:
        """Plant what looks like a fault in a service whose configuration elsewhere excuses it."""
        seen_as = EXCUSES[excuse]
        host = self._host(excuse, seen_as)
        _EXCUSE[excuse](host, seen_as.modes[0])
        return self._plant(host, seen_as.modes[0], seen_as, excuse)

    def decoys(self) -> None:
        """Write excuses where nothing needs one, and exemptions that do not fit the fault beside them."""
        for excuse in [name for name in EXCUSES for _ in range(_DECOYS)]:
            host = pick(self.rng, [service for service in self.services if not service.touched])
            host.touched = True
            _EXCUSE[excuse](host, pick(self.rng, tuple(MODES)))
        faulty = [service for service in self.services if service.modes and not service.exemptions]
        for host in faulty[:: max(1, len(faulty) // _DECOYS)]:
            touchy = {MODES[mode].field for mode in host.modes}
            _exempt(host, pick(self.rng, [name for name, mode in MODES.items() if mode.field not in touchy]))

    def _host(self, name: str, seen_as: Visibility) -> Service:
        fitting = [service for service in self.services if not service.touched and _fits(service, seen_as)]
        if not fitting:
            raise DeclarationError(
                f"too few services to plant another {name!r}", help="ask for more services or fewer faults"
            )
        host = pick(self.rng, fitting)
        host.touched = True
        if seen_as.window:
            host.modified_at = moment(self.rng, *WINDOWS[seen_as.window - 1])
        elif "definition" in seen_as.places:
            host.modified_at = quiet_moment(self.rng)
        return host

    def _plant(self, host: Service, mode: str, seen_as: Visibility, visibility: str) -> Fault:
        spoilt = _spoilt(self.rng, host, mode)
        for place in seen_as.places:
            host.deviations.setdefault(place, {})[MODES[mode].fact] = spoilt
        host.modes.add(mode)
        return Fault(host.name, MODES[mode].field, mode, visibility)


def _fits(service: Service, seen_as: Visibility) -> bool:
    if seen_as.renamed or service.former:
        return seen_as.renamed and service.former is not None
    if "definition" not in seen_as.places:
        return True
    prefix = next((place for place, name in enumerate(PREFIXES, 1) if service.name.startswith(name)), 0)
    return prefix == seen_as.prefix


def _spoilt(rng: random.Random, service: Service, mode: str) -> Any:
    truth = service.truth
    values: dict[str, Callable[[], Any]] = {
        "plaintext_endpoint": lambda: "http",
        "deprecated_hostname": lambda: f"{service.known_as}.{LEGACY_DOMAIN}",
        "wrong_port": lambda: truth["port"] + 1000 + rng.randrange(90),
        "absent_tls": lambda: False,
        "expired_tls": lambda: f"2025-{1 + rng.randrange(5):02}-{1 + rng.randrange(28):02}",
        "missing_probe": lambda: None,
        "debug_on": lambda: True,
        "unbounded_timeout": lambda: 0,
        "stale_owner": lambda: pick(rng, [team for team in TEAMS.values() if team != truth["owner"]]),
        "replica_drift": lambda: truth["most"] + 1 + rng.randrange(6),
        "floating_image": lambda: "latest",
    }
    return values[mode]()


def _loopback(service: Service, mode: str) -> None:
    service.truth["host"] = "127.0.0.1"


def _exempt(service: Service, mode: str) -> None:
    service.exemptions[MODES[mode].field] = f"agreed with {service.truth['owner']} on {service.truth['since']}"


def _drain(service: Service, mode: str) -> None:
    service.state = "drained"


_EXCUSE: dict[str, Callable[[Service, str], None]] = {
    "loopback": _loopback,
    "exempt": _exempt,
    "drained": _drain,
}


def _write(folder: Path, services: list[Service]) -> None:
    texts = {definition_path(service): definition(service) for service in services}
    texts |= {config_path(service): config(service) for service in services}
    texts["live.json"] = _json({service.name: live(service) for service in services})
    texts["charter.yaml"] = "".join(charter(service) for service in sorted(services, key=_charter_order))
    texts["modified.json"] = _json(_modified(services))
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")


def _charter_order(service: Service) -> str:
    return service.known_as


def _modified(services: list[Service]) -> dict[str, str]:
    edits = {definition_path(service): service.modified_at for service in services}
    # Config files are edited less often than definitions; nobody touched them in the migration.
    edits |= {config_path(service): service.modified_at - timedelta(days=400) for service in services}
    return {path: edited.isoformat() for path, edited in sorted(edits.items())}


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
