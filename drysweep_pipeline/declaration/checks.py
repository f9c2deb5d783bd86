"""What is wrong with a declared sweep that reading it does not find: its SQL, its canaries, the models that it asks.

Reading refuses what cannot be taken as written; these checks come after it, for ``validate`` and for the start of a
campaign. No material is opened and no finder is run. What is only unwise is ``advice``.
"""

from collections.abc import Iterator
from typing import Any

from drysweep_pipeline.declaration.model import (
    AnyStrategy,
    CommandMaterial,
    LlmJudge,
    LlmStrategy,
    Model,
    Query,
    RegistryMaterial,
    Scalar,
    ScriptedMaterial,
    Send,
    SqlJudge,
    SqlStrategy,
    Sweep,
    TablesMaterial,
    models_of,
)
from drysweep_pipeline.declaration.reading import Declaration, read_declaration
from drysweep_pipeline.declaration.refusals import Written, did_you_mean
from drysweep_pipeline.declaration.yaml_reader import Document, Keys, read_yaml
from drysweep_pipeline.errors import DeclarationError, DrysweepError, Refused

# Bound in every query of a strategy, whatever its angle.
ALWAYS_BOUND = frozenset({"seed", "round"})
# Bound in the query of a judge: which member of the panel is asked, and its seed.
BOUND_FOR_A_JUDGE = frozenset({"member", "seed"})


def canary_problems(declaration: Declaration) -> list[DrysweepError]:
    """Return what keeps the canaries of a sweep from being planted, as far as it is known without the material."""
    from drysweep_pipeline.canaries import problems
    from drysweep_pipeline.material.planting import named_by_paths

    sweep = declaration.sweep
    if sweep.canaries is None:
        return []
    written = Written(declaration.path, None, Sweep, document_of(declaration))
    try:
        names = named_by_paths(sweep, declaration.base)
    except DrysweepError as error:
        return [error]
    return [written.refusal(("canaries", *keys), what, help) for keys, what, help in problems(sweep, names)]


def sql_problems(declaration: Declaration) -> list[DeclarationError]:
    """Return what is wrong with the SQL of a sweep.

    Each text is one SELECT, each angle binds its ``$names``, and each fits the tables of the material and gives the
    columns that are needed.
    """
    written = Written(declaration.path, None, Sweep, document_of(declaration))
    found: list[DeclarationError] = []
    for keys, strategy, query, _ in _queries(declaration.sweep):
        found += _query_problems(written, keys, query, strategy.angles)
    if isinstance(declaration.sweep.judge, SqlJudge):
        found += _judge_problems(written, declaration.sweep.judge)
    return found or list(_misfits(written, declaration.sweep))


def model_problems(declaration: Declaration) -> list[DeclarationError]:
    """Return what keeps the models of a sweep from being asked here: the library, their provider, their address."""
    written = Written(declaration.path, None, Sweep, document_of(declaration))
    found: list[DeclarationError] = []
    for keys, who in _asking(declaration.sweep):
        for model in models_of(who):
            try:
                _check_model(model)
            except Refused as error:
                found.append(written.refusal(keys, error.what, error.help))
    return found


def _asking(sweep: Sweep) -> Iterator[tuple[Keys, LlmStrategy | LlmJudge]]:
    """Yield who asks a model, and where the model is named."""
    for index, strategy in enumerate(sweep.strategies):
        if isinstance(strategy, LlmStrategy):
            yield ("strategies", index, "model"), strategy
    if isinstance(sweep.judge, LlmJudge):
        yield ("judge", "models"), sweep.judge


def _check_model(model: Model) -> None:
    # Here and not above, so that reading a declaration does not look for the library.
    from drysweep_pipeline.llm import models

    models.check(model)


def _queries(sweep: Sweep) -> Iterator[tuple[Keys, AnyStrategy, Query, tuple[str, ...]]]:
    """Yield the queries of strategies: where each stands, whose it is, and the columns that it has to give."""
    for index, strategy in enumerate(sweep.strategies):
        keys: Keys = ("strategies", index)
        if isinstance(strategy, SqlStrategy):
            yield keys, strategy, strategy.query, sweep.fingerprint.fields
        send = getattr(strategy, "send", None)
        if isinstance(send, Send):
            yield (*keys, "send"), strategy, send.query, ()


def _misfits(written: Written, sweep: Sweep) -> Iterator[DeclarationError]:
    """Yield what does not fit: SQL tried on empty tables such as the snapshot will have."""
    from drysweep_pipeline import binding
    from drysweep_pipeline.judges.sql import table_of_findings
    from drysweep_pipeline.material.schema import REGISTRY_TABLES, TABLES

    if isinstance(sweep.material, ScriptedMaterial | TablesMaterial | CommandMaterial):
        return  # what columns there are is known once the material is read
    tables = {**TABLES, **(REGISTRY_TABLES if isinstance(sweep.material, RegistryMaterial) else {})}
    with binding.empty({**tables, "findings": table_of_findings(sweep.fingerprint.fields)}) as connection:
        for keys, strategy, query, needed in _queries(sweep):
            offered = {**dict.fromkeys(ALWAYS_BOUND, 1), **(strategy.angles[0] if strategy.angles else {})}
            bound = {name: value for name, value in offered.items() if name in names_bound(query)}
            yield from _misfit(written, keys, query, connection, bound, needed)
        if isinstance(sweep.judge, SqlJudge):
            bound = dict.fromkeys(BOUND_FOR_A_JUDGE & names_bound(sweep.judge.query), 1)
            yield from _misfit(written, ("judge",), sweep.judge.query, connection, bound, ("fp", "verdict"))


def _misfit(
    written: Written, keys: Keys, query: Query, connection: Any, bound: dict[str, Any], needed: tuple[str, ...]
) -> Iterator[DeclarationError]:
    from drysweep_pipeline import binding

    try:
        given = binding.columns(connection, query.text, bound)
    except Refused as error:
        yield _not_a_select(written, keys, query, error)
        return
    missing = [name for name in needed if name not in given]
    if missing:
        what = f"{query.file}: gives no column {', '.join(missing)}"
        yield written.refusal((*keys, "query", "file"), what, f"it gives {', '.join(given)}")


def _query_problems(
    written: Written, keys: Keys, query: Query, angles: tuple[dict[str, Scalar], ...]
) -> Iterator[DeclarationError]:
    try:
        wanted = _checked(query) - ALWAYS_BOUND
    except Refused as error:
        yield _not_a_select(written, keys, query, error)
        return
    where: Keys = (*keys[:2], "angles")
    if wanted and not angles:
        names = ", ".join(f"${name}" for name in sorted(wanted))
        yield written.refusal(where, f"{query.file} uses {names} and no angle binds it", "declare angles")
    for index, angle in enumerate(angles):
        for name in sorted(wanted - set(angle)):
            what = f"does not bind ${name}, which {query.file} uses"
            yield written.refusal((*where, index), what, did_you_mean(name, [*angle, *sorted(ALWAYS_BOUND)]))


def _judge_problems(written: Written, judge: SqlJudge) -> Iterator[DeclarationError]:
    try:
        wanted = _checked(judge.query) - BOUND_FOR_A_JUDGE
    except Refused as error:
        yield _not_a_select(written, ("judge",), judge.query, error)
        return
    if wanted:
        names = ", ".join(f"${name}" for name in sorted(wanted))
        what = f"{judge.query.file} uses {names}, which is not bound for a judge"
        yield written.refusal(("judge", "query", "file"), what, "$member and $seed are; it reads the table findings")


def _not_a_select(written: Written, keys: Keys, query: Query, error: Refused) -> DeclarationError:
    return written.refusal((*keys, "query", "file"), f"{query.file}: {error.what}", error.help)


def _checked(query: Query) -> frozenset[str]:
    """Return the ``$names`` of a query. Raises ``Refused`` where it is not one SELECT over tables."""
    # Here and not above, so that reading a declaration does not load DuckDB.
    from drysweep_pipeline import sandbox

    return sandbox.check_query(query.text)


def is_sql(query: Query) -> bool:
    """Tell whether a query is one SELECT over tables, which is what it has to be."""
    try:
        _checked(query)
    except Refused:
        return False
    return True


def names_bound(query: Query) -> frozenset[str]:
    """Return the ``$names`` of a query; none of what is no query."""
    return _checked(query) if is_sql(query) else frozenset()


def document_of(declaration: Declaration) -> Document | None:
    """Return the lines of a declaration, None where its file is gone or says something else by now."""
    try:
        if read_declaration(declaration.path).digest != declaration.digest:
            return None
        return read_yaml(declaration.path).under("attributes")
    except DeclarationError:
        return None
