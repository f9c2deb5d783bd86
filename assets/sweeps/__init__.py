"""The declared sweeps of this deployment, a folder each: `defs.yaml` and its SQL files."""
