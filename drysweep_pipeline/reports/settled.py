"""What settles a finding, in words, for formats that can say that something need not be looked at."""

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.values import Severity, State, Verdict

_BY_PEOPLE = {State.CONTESTED: "contested", State.ACCEPTED_RISK: "accepted as a risk", State.DECLINED: "declined"}


def how_settled(row: Row) -> str | None:
    """Return who settled a finding, how, why and until when, or that it was rejected; None where it is unsettled.

    A fix settles nothing: whether it holds is what a later campaign sees. Nor does it settle what is reported as worse
    by now that somebody declined it when it was a nit.
    """
    outgrown = row["state"] == State.DECLINED and row["severity"] != Severity.NIT
    if (word := _BY_PEOPLE.get(row["state"])) and not outgrown:
        by = f" by {row['state_by']}" if row["state_by"] else ""
        until = f" until {row['expires']}, inclusive" if row["expires"] else ""
        return f"{word}{by}{until}" + (f": {row['state_reason']}" if row["state_reason"] else "")
    if row["status"] == Verdict.REJECTED:
        return "rejected when it was judged" + (f": {row['verdict_reason']}" if row["verdict_reason"] else "")
    return None
