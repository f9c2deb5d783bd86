"""``drysweep status``: where a campaign stands, and who drives it."""

from typing import TYPE_CHECKING

from drysweep_pipeline.cli.options import CampaignArgument, HomeOption, JsonOption, find_campaign, home_of

if TYPE_CHECKING:
    from drysweep_pipeline.engine.state import State

_DRIVERS = {"cli": "the command line", "sensor": "Dagster's sensor"}


def status(campaign: CampaignArgument, home: HomeOption = None, json: JsonOption = False) -> int:
    """Show where a campaign stands, why, and what it waits for.

    Example: drysweep status my_sweep/20260131T060000Z
    """
    from drysweep_pipeline.cli.driving import by_the_sensor, show
    from drysweep_pipeline.cli.output import put
    from drysweep_pipeline.engine.campaign import load
    from drysweep_pipeline.engine.state import read_state

    place = home_of(home)
    loaded = load(place, *find_campaign(place, campaign))
    state = read_state(loaded.state_path)
    if not json and state is not None and state.next is not None:
        put(f"round {state.next} is due, driven by {_DRIVERS[state.driver]}{_working(state)}")
        if state.driver == "sensor":
            put(by_the_sensor(place, state))
    show(place, loaded, as_json=json)
    return 0


def _working(state: "State") -> str:
    """Return who works on a campaign that goes on; where nobody does, it was interrupted and stands still."""
    if state.lease and state.lease.alive:
        return f"; process {state.lease.pid} works on it"
    # What the sensor drives goes on by itself, and what is queued never began: both are told below.
    return "; no process works on it, `drysweep resume` goes on" if state.driver == "cli" and not state.queued else ""
