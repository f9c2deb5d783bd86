"""How SQL spells what cannot be bound: a text where only a literal is taken, a name, and how bad a severity is."""

from drysweep_pipeline.values import Severity


def literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def rank(column: str) -> str:
    """Return SQL for ``Severity.rank`` of a column, 0 the worst; what is no severity counts as the least."""
    *worse, least = Severity
    cases = " ".join(f"when {literal(each)} then {each.rank}" for each in worse)
    return f"case {column} {cases} else {least.rank} end"
