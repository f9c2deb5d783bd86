"""The services of the demo registry: their names and facts, and how each place writes them down.

A service has one truth; a place may deviate from it in single facts. The charter always writes the truth.
Random numbers come from ``random`` and ``randrange`` alone, which every Python version draws alike.
"""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

TEAMS = {
    "pay": "payments",
    "ord": "orders",
    "idn": "identity",
    "web": "storefront",
    "ops": "operations",
    "crm": "customer-care",
    "dat": "data",
    "fin": "finance",
    "inv": "inventory",
    "mob": "mobile",
    "shp": "shipping",
}
PREFIXES = ("pay-", "ord-", "idn-", "web-", "ops-")
"""The name prefixes that the sweep's angles look at, in their order."""

WINDOWS = (
    (datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)),
    (datetime(2025, 11, 24, tzinfo=UTC), datetime(2025, 12, 1, tzinfo=UTC)),
    (datetime(2026, 1, 12, tzinfo=UTC), datetime(2026, 1, 19, tzinfo=UTC)),
    (datetime(2026, 4, 13, tzinfo=UTC), datetime(2026, 4, 20, tzinfo=UTC)),
    (datetime(2025, 9, 1, tzinfo=UTC), datetime(2025, 9, 8, tzinfo=UTC)),
)
"""The time windows that the sweep's angles look at, in their order; the first is the renaming migration."""

DOMAIN = "svc.example.net"
LEGACY_DOMAIN = "legacy.example.net"
RENAMED_PREFIX, RENAMED_OWNER = "core", "platform"
_FIRST_EDIT = datetime(2025, 6, 1, tzinfo=UTC)
_EDITED_DAYS = 365
_NOUNS = """
account address archive audit basket batch billing booking bridge broker cache calendar capture catalog
claim consent coupon courier credit digest dispute document dossier event export feed fraud gateway
geocode image import index intake invoice label ledger limit mailer mandate metrics notice offer parcel
payout picture policy price profile quote rating receipt refund report risk router rule scan schedule
search session settle signal sku stock stream survey tariff tax ticket token tracker transfer vault voucher
"""
_SUFFIXES = ("api", "worker", "store", "sync", "proxy", "cron")

Item = TypeVar("Item")
Facts = dict[str, Any]


@dataclass(slots=True)
class Service:
    """One service while the registry is being made up; ``former`` is its name before the migration."""

    name: str
    former: str | None
    truth: Facts
    modified_at: datetime
    deviations: dict[str, Facts] = field(default_factory=dict)
    state: str = "serving"
    exemptions: dict[str, str] = field(default_factory=dict)
    modes: set[str] = field(default_factory=set)
    touched: bool = False

    def fact(self, place: str, name: str) -> Any:
        """Return a fact as a place has it: the truth, unless the place deviates."""
        return self.deviations.get(place, {}).get(name, self.truth[name])

    @property
    def known_as(self) -> str:
        """The name under which labels, config file and charter still know the service."""
        return self.former or self.name


def pick(rng: random.Random, items: list[Item] | tuple[Item, ...]) -> Item:
    """Return one of the items, drawn evenly."""
    return items[rng.randrange(len(items))]


def moment(rng: random.Random, start: datetime, end: datetime) -> datetime:
    """Return a moment within ``[start, end)``, to the second."""
    return start + timedelta(seconds=rng.randrange(int((end - start).total_seconds())))


def quiet_moment(rng: random.Random) -> datetime:
    """Return a moment of the registry's year that lies in none of the windows."""
    while True:
        drawn = moment(rng, _FIRST_EDIT, _FIRST_EDIT + timedelta(days=_EDITED_DAYS))
        if not any(start <= drawn < end for start, end in WINDOWS):
            return drawn


def clean_services(rng: random.Random, count: int) -> list[Service]:
    """Return that many services without a fault, sorted by name; one in twelve was renamed in the migration."""
    names = [f"{noun}-{suffix}" for noun in _NOUNS.split() for suffix in _SUFFIXES]
    names.sort(key=lambda name: rng.random())
    prefixes = list(TEAMS)
    made = []
    for index in range(count):
        prefix, name = prefixes[index % len(prefixes)], names[index % len(names)]
        if index >= len(names):
            name += f"-{index // len(names) + 1}"
        made.append(_renamed(rng, prefix, name) if index % 12 == 11 else _regular(rng, prefix, name))
    return sorted(made, key=lambda service: service.name)


def _regular(rng: random.Random, prefix: str, name: str) -> Service:
    full = f"{prefix}-{name}"
    edited = moment(rng, _FIRST_EDIT, _FIRST_EDIT + timedelta(days=_EDITED_DAYS))
    return Service(full, None, _facts(rng, full, TEAMS[prefix]), edited)


def _renamed(rng: random.Random, prefix: str, name: str) -> Service:
    full = f"{RENAMED_PREFIX}-{name}"
    return Service(full, f"{prefix}-{name}", _facts(rng, full, RENAMED_OWNER), moment(rng, *WINDOWS[0]))


def _facts(rng: random.Random, name: str, owner: str) -> Facts:
    most = 4 + rng.randrange(5)
    return {
        "scheme": "https",
        "host": f"{name}.{DOMAIN}",
        "port": 8000 + rng.randrange(900),
        "tls": True,
        "not_after": f"{2027 + rng.randrange(2)}-{1 + rng.randrange(12):02}-{1 + rng.randrange(28):02}",
        "probe": pick(rng, ("/healthz", "/ready", "/internal/health")),
        "debug": False,
        "timeout_ms": 500 * (1 + rng.randrange(12)),
        "owner": owner,
        "replicas": 2 + rng.randrange(most - 2),
        "most": most,
        "version": f"{1 + rng.randrange(6)}.{rng.randrange(40)}.{rng.randrange(12)}",
        "tier": pick(rng, ("edge", "backend", "batch")),
        "schedule": f"{rng.randrange(60)} {rng.randrange(6)} * * *",
        "dialect": pick(rng, ("env", "env", "env", "ini")),
        "since": f"{2021 + rng.randrange(4)}-{1 + rng.randrange(12):02}-{1 + rng.randrange(28):02}",
        "connections": rng.randrange(900),
    }


def definition_path(service: Service) -> str:
    """Return where the service's definition lies, below the registry's folder."""
    return f"services/{service.name}.yaml"


def config_path(service: Service) -> str:
    """Return where the service's config file lies; nobody renamed those in the migration."""
    return f"config/{service.known_as}.{service.truth['dialect']}"


def definition(service: Service) -> str:
    """Return the text of ``services/<name>.yaml``."""

    def at(name: str) -> Any:
        return service.fact("definition", name)

    prefix, _, rest = service.name.partition("-")
    lines = [
        f"name: {service.name}",
        *([f"aliases: [{service.former}]"] if service.former else []),
        f"owner: {service.truth['owner']}",
        f"oncall: {at('owner')}-oncall",
        f"image: containers.example.net/{prefix}/{rest}:{at('version')}",
        "endpoint:",
        f"  url: {at('scheme')}://{at('host')}:{at('port')}",
        f"port: {service.truth['port']}",
        "tls:",
        f"  enabled: {_word(at('tls'))}",
        f'  not_after: "{at("not_after")}"',
        *(["health:", f"  path: {at('probe')}", "  interval_s: 15"] if at("probe") else []),
        "timeouts:",
        "  connect_ms: 250",
        f"  request_ms: {at('timeout_ms')}",
        f"replicas: {at('replicas')}",
        f"scaling: {{min: 1, max: {service.truth['most']}}}",
        f"debug: {_word(at('debug'))}",
        "labels:",
        *(f"  {key}: {json.dumps(value)}" for key, value in labels(service).items()),
    ]
    return "\n".join(lines) + "\n"


def labels(service: Service) -> dict[str, str]:
    """Return the labels of the service's container; ``app.service`` is what ties a container to its service."""

    def at(name: str) -> Any:
        return service.fact("label", name)

    return {
        "app.service": service.known_as,
        "app.tier": service.truth["tier"],
        "app.owner": at("owner"),
        "app.version": at("version"),
        "app.replicas": str(at("replicas")),
        "app.debug": _word(at("debug")),
        "traefik.enable": "true",
        "traefik.http.routers.main.rule": f"Host(`{at('host')}`)",
        "traefik.http.routers.main.tls": _word(at("tls")),
        "traefik.http.services.main.loadbalancer.server.scheme": at("scheme"),
        "traefik.http.services.main.loadbalancer.server.port": str(at("port")),
        "traefik.http.services.main.loadbalancer.responsetimeout": f"{at('timeout_ms')}ms",
        "probe.enabled": _word(bool(at("probe"))),
        "probe.interval": "15s",
        "prometheus.scrape": "true",
        "prometheus.scheme": at("scheme"),
        "prometheus.path": "/metrics",
        "backup.schedule": service.truth["schedule"],
        "backup.owner": at("owner"),
    }


def config(service: Service) -> str:
    """Return the text of the service's config file, as .env or .ini."""

    def at(name: str) -> Any:
        return service.fact("config", name)

    pairs = {
        "service_name": service.known_as,
        "public_url": f"{at('scheme')}://{at('host')}:{at('port')}",
        "tls_enabled": _word(at("tls")),
        "debug": _word(at("debug")),
        "log_level": "debug" if at("debug") else "info",
        "request_timeout_ms": at("timeout_ms"),
        "health_path": at("probe") or "off",
        "runbook_url": f"https://runbooks.example.net/{service.known_as}",
    }
    if service.truth["dialect"] == "ini":
        return "[service]\n" + "".join(f"{key} = {value}\n" for key, value in pairs.items())
    note = f"# public_url=http://{service.known_as}.{LEGACY_DOMAIN} until {service.truth['since']}\n"
    return note + "".join(f"{key.upper()}={value}\n" for key, value in pairs.items())


def live(service: Service) -> dict[str, Any]:
    """Return what runs, as the orchestrator reports it."""

    def at(name: str) -> Any:
        return service.fact("live", name)

    return {
        "net": {
            "scheme": at("scheme"),
            "host": at("host"),
            "port": at("port"),
            "connections": service.truth["connections"],
        },
        "tls": {"enabled": at("tls")},
        **({"probe": {"path": at("probe")}} if at("probe") else {}),
        "run": {"replicas": at("replicas"), "debug": at("debug"), "version": at("version")},
        "own": {"team": at("owner")},
        "state": service.state,
    }


def charter(service: Service) -> str:
    """Return the service's entry in ``charter.yaml``: the truth, and what was agreed as an exception."""
    truth = service.truth
    net = f"{{scheme: {truth['scheme']}, host: {truth['host']}, port: {truth['port']}}}"
    run = f'{{replicas: {truth["replicas"]}, debug: {_word(truth["debug"])}, version: "{truth["version"]}"}}'
    lines = [
        f"{service.known_as}:",
        f'  since: "{truth["since"]}"',
        f"  net: {net}",
        f"  tls: {{enabled: {_word(truth['tls'])}}}",
        f"  probe: {{path: {truth['probe']}}}",
        f"  run: {run}",
        f"  own: {{team: {truth['owner']}}}",
    ]
    if service.exemptions:
        agreed = ", ".join(f"{name}: {json.dumps(text)}" for name, text in sorted(service.exemptions.items()))
        lines.append(f"  exempt: {{{agreed}}}")
    return "\n".join(lines) + "\n"


def _word(value: bool) -> str:
    return "true" if value else "false"
