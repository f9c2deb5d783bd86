"""The demo: a made-up registry of services with planted faults, for the config-registry sweep to find."""
