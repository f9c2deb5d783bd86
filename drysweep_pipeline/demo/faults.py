"""What can be wrong with a service of the demo registry, and from where it can be noticed.

A failure mode spoils one *fact* of a service; a visibility says in which *places* the spoilt fact is written,
and what name and modification time the service has. Writing the files is left to ``services`` and
``registry``. Nothing of this reaches the files: a strategy has to derive a fault from the configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PLACES = ("label", "config", "definition", "live")
"""Where a fact of a service is written: container labels, config file, service definition, live state."""


@dataclass(frozen=True, slots=True)
class FailureMode:
    """One way to be misconfigured: the field that a finding names and the fact that is spoilt."""

    field: str
    fact: str


MODES: Mapping[str, FailureMode] = {
    "plaintext_endpoint": FailureMode("endpoint", "scheme"),
    "deprecated_hostname": FailureMode("endpoint", "host"),
    "wrong_port": FailureMode("port", "port"),
    "absent_tls": FailureMode("tls", "tls"),
    "expired_tls": FailureMode("tls", "not_after"),
    "missing_probe": FailureMode("health", "probe"),
    "debug_on": FailureMode("debug", "debug"),
    "unbounded_timeout": FailureMode("timeout", "timeout_ms"),
    "stale_owner": FailureMode("owner", "owner"),
    "replica_drift": FailureMode("replicas", "replicas"),
    "floating_image": FailureMode("image", "version"),
}


@dataclass(frozen=True, slots=True)
class Visibility:
    """From where a fault can be noticed.

    ``prefix`` and ``window`` count the sweep's angles from 1; 0 is none of them.
    """

    places: tuple[str, ...]
    modes: tuple[str, ...]
    prefix: int = 0
    window: int = 0
    renamed: bool = False


VISIBILITIES: Mapping[str, Visibility] = {
    "label_app": Visibility(("label",), ("stale_owner", "debug_on", "floating_image", "replica_drift")),
    "label_traefik": Visibility(
        ("label",),
        ("plaintext_endpoint", "deprecated_hostname", "wrong_port", "absent_tls", "unbounded_timeout"),
    ),
    "label_live": Visibility(
        ("label", "live"), ("debug_on", "wrong_port", "replica_drift", "floating_image", "plaintext_endpoint")
    ),
    "label_config": Visibility(("label", "config"), ("plaintext_endpoint", "debug_on", "deprecated_hostname")),
    "label_prefix": Visibility(("label", "definition"), ("absent_tls", "unbounded_timeout", "wrong_port"), prefix=1),
    "label_probe": Visibility(("label", "live"), ("missing_probe",)),
    "config_net": Visibility(("config",), ("plaintext_endpoint", "deprecated_hostname")),
    "config_run": Visibility(("config",), ("debug_on", "unbounded_timeout")),
    "config_tls": Visibility(("config",), ("absent_tls",)),
    "config_probe": Visibility(("config",), ("missing_probe",)),
    "config_live": Visibility(("config", "live"), ("deprecated_hostname", "plaintext_endpoint")),
    "prefix_first": Visibility(("definition",), tuple(MODES), prefix=1),
    "prefix_second": Visibility(("definition",), tuple(MODES), prefix=2),
    "prefix_third": Visibility(("definition",), tuple(MODES), prefix=3),
    "prefix_fifth": Visibility(("definition",), tuple(MODES), prefix=5),
    "prefix_window": Visibility(("definition",), tuple(MODES), prefix=4, window=1),
    "window_config": Visibility(
        ("definition", "config"), ("absent_tls", "missing_probe", "unbounded_timeout"), window=2
    ),
    "live_net": Visibility(("live",), ("wrong_port", "plaintext_endpoint", "deprecated_hostname")),
    "live_run": Visibility(("live",), ("replica_drift", "floating_image")),
    "live_own": Visibility(("live",), ("stale_owner",)),
    "renamed": Visibility(PLACES, tuple(MODES), window=1, renamed=True),
}

# What excuses a false alarm, in the order in which they are planted. Each is written everywhere, so that
# whatever the angle of a round, some strategy comes across it again.
EXCUSES: Mapping[str, Visibility] = {
    "loopback": Visibility(PLACES, ("plaintext_endpoint",), prefix=3, window=5),
    "exempt": Visibility(PLACES, ("debug_on",), prefix=3, window=4),
    "drained": Visibility(PLACES, ("missing_probe",), prefix=1, window=2),
}


def worked_case() -> dict[str, int]:
    """Return how many true faults of each visibility make the worked case."""
    return {
        "label_app": 4,
        "label_traefik": 7,
        "label_live": 10,
        "label_config": 8,
        "label_prefix": 4,
        "label_probe": 2,
        "config_net": 4,
        "config_run": 4,
        "config_tls": 1,
        "config_live": 2,
        "prefix_first": 4,
        "prefix_second": 3,
        "prefix_third": 1,
        "prefix_window": 3,
        "window_config": 2,
        "live_net": 3,
        "live_run": 3,
        "renamed": 11,
    }


@dataclass(frozen=True, slots=True)
class Plantings:
    """How much to plant: true faults by visibility, false alarms, and extra faults, one a visibility named.

    Extra faults come last and from their own random numbers: with and without them, everything else in the
    registry is the same to the byte.
    """

    faults: Mapping[str, int] = field(default_factory=worked_case)
    false_alarms: int = 8
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing planted: the fingerprint fields of its finding, and its visibility (or its excuse)."""

    service: str
    field: str
    failure_mode: str
    visibility: str

    @property
    def key(self) -> tuple[str, str, str]:
        """The fingerprint fields in the order in which the sweep declares them."""
        return (self.service, self.field, self.failure_mode)


@dataclass(frozen=True, slots=True)
class Planted:
    """What a registry holds: true faults (``extra`` ones included) and false alarms, each sorted."""

    faults: tuple[Fault, ...]
    false_alarms: tuple[Fault, ...]
    extra: tuple[Fault, ...] = ()
