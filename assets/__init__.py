"""This repository's Dagster code location: the sweeps of this deployment, declared. Their code is in the wheel."""
