"""Where everything lies on disk under one home. Paths only; nothing here reads or writes a file."""

from dataclasses import dataclass
from pathlib import Path

from drysweep_pipeline.values import RoundKey


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds all of a deployment's sweeps (``DRYSWEEP_HOME``)."""

    root: Path

    @property
    def dagster(self) -> Path:
        """``DAGSTER_HOME`` of drysweep's own commands."""
        return self.root / "dagster"

    @property
    def history(self) -> Path:
        """The published file that analysts query."""
        return self.root / "history" / "history.duckdb"

    @property
    def parquet(self) -> Path:
        """The published files for other engines, a folder a table."""
        return self.root / "history" / "parquet"

    @property
    def redaction_key(self) -> Path:
        """The key under which secrets are marked; private."""
        return self.root / "redaction.key"

    def sweep(self, name: str) -> "SweepHome":
        """Return the places of one sweep."""
        return SweepHome(self, name)

    def sweeps(self) -> list[str]:
        """Return the names of the sweeps that have anything here."""
        folder = self.root / "sweeps"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@dataclass(frozen=True, slots=True)
class SweepHome:
    """The places of one sweep."""

    home: Home
    name: str

    @property
    def root(self) -> Path:
        """The sweep's own folder."""
        return self.home.root / "sweeps" / self.name

    @property
    def snapshots(self) -> Path:
        """Frozen material, a folder a digest; private."""
        return self.root / "snapshots"

    @property
    def planted(self) -> Path:
        """Copies of snapshots with canaries in them, a folder a digest; private, and made again where they are gone."""
        return self.root / "planted"

    @property
    def ledger(self) -> Path:
        """The ledger, rebuildable from landing."""
        return self.root / "ledger.duckdb"

    def landing(self, campaign: str) -> Path:
        """All that a campaign left."""
        return self.root / "landing" / campaign

    def round(self, key: RoundKey) -> Path:
        """What one round left."""
        return self.landing(key.campaign) / key.folder

    def actions(self, campaign: str) -> Path:
        """What people decided in a campaign, a file a decision."""
        return self.landing(campaign) / "actions"

    def state(self, campaign: str) -> Path:
        """The small file that the sensor reads."""
        return self.root / "state" / f"{campaign}.json"

    def report(self, campaign: str, suffix: str) -> Path:
        """A rendered report, ``suffix`` with its dot."""
        return self.home.root / "reports" / self.name / f"{campaign}{suffix}"
