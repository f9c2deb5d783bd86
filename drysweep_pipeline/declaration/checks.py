"""What is allowed in a declared sweep and still unwise, and what is wrong with its SQL.

Reading refuses what cannot be taken as written; these checks come after it, for ``validate`` and for the start of a
campaign. No material is opened and no finder is run.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from drysweep_pipeline.addresses import fault_of_secret_url, variables
from drysweep_pipeline.canaries import unwatched
from drysweep_pipeline.declaration.model import (
    VARYING,
    AnyStrategy,
    CommandJudge,
    CommandMaterial,
    CommandStrategy,
    InAChild,
    LlmJudge,
    LlmStrategy,
    Model,
    NoJudge,
    OutsideStrategy,
    Part,
    PythonJudge,
    PythonStrategy,
    Query,
    RegistryMaterial,
    Scalar,
    ScriptedMaterial,
    Send,
    Service,
    SqlJudge,
    SqlStrategy,
    Strategy,
    Sweep,
    TablesMaterial,
    Webhook,
    models_of,
    names_in_argv,
    query_of,
)
from drysweep_pipeline.declaration.reading import Declaration, read_declaration
from drysweep_pipeline.declaration.refusals import Written, did_you_mean
from drysweep_pipeline.declaration.secrets import not_set, too_short
from drysweep_pipeline.declaration.yaml_reader import Document, Keys, read_yaml
from drysweep_pipeline.errors import DeclarationError, DrysweepError, Refused
from drysweep_pipeline.redaction.known import LEAST

# Bound in every query of a strategy, whatever its angle.
ALWAYS_BOUND = frozenset({"seed", "round"})
# Bound in the query of a judge: which member of the panel is asked, and its seed.
BOUND_FOR_A_JUDGE = frozenset({"member", "seed"})


def warnings(declaration: Declaration) -> list[str]:
    """Return what is allowed and still unwise in a sweep, a sentence each; an empty list where nothing is."""
    sweep = declaration.sweep
    here = chain(_searching(sweep, declaration.base), _judging(sweep, declaration.base))
    of_all = chain(_blind_spots(sweep), here, _ceilings(sweep), _unwatched(sweep), _redacting(declaration))
    telling = _telling(sweep, declaration.base)
    return list(chain(_variation(sweep), _unused(sweep), of_all, telling))


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


def _redacting(declaration: Declaration) -> Iterator[str]:
    """Yield what keeps secrets from being masked as one may expect."""
    plain, mode = declaration.sweep.model_dump(), declaration.sweep.redaction.mode
    if mode == "off":
        yield "Redaction is off: secrets that strategies report are written as they are."
        return
    if mode == "mask":
        yield "All secrets are masked alike: findings that differ in a secret only become one; mode: hash parts them."
    for name in not_set(plain):
        yield f"The variable {name} under redaction.env is not set here: where that is so, no campaign starts."
    for name in too_short(plain, declaration.base):
        yield f"The value of {name} is shorter than {LEAST} characters and is not masked: it may stand in other words."


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
            bound = {name: value for name, value in offered.items() if name in _names(query)}
            yield from _misfit(written, keys, query, connection, bound, needed)
        if isinstance(sweep.judge, SqlJudge):
            bound = dict.fromkeys(BOUND_FOR_A_JUDGE & _names(sweep.judge.query), 1)
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


def _variation(sweep: Sweep) -> Iterator[str]:
    fixed = [strategy.name for strategy in sweep.strategies if not _varies(strategy)]
    if len(fixed) == len(sweep.strategies):
        yield (
            "Nothing varies in this sweep: every round repeats the first, so quiet rounds prove little; "
            "give a strategy two or more angles, or have it use its seed."
        )
        return
    for name in fixed:
        yield (f"Nothing varies in the strategy {name!r}: give it two or more angles, or have it use its seed.")


def _varies(strategy: Strategy) -> bool:
    """Tell whether two rounds of a strategy may differ; who searches outside or by a script is taken at its word."""
    distinct = {tuple(sorted((name, repr(value)) for name, value in angle.items())) for angle in strategy.angles}
    if len(distinct) > 1:
        return True
    query = query_of(strategy)
    drawn = query is not None and bool(_names(query) & ALWAYS_BOUND)
    if isinstance(strategy, OutsideStrategy):
        return drawn or not strategy.deterministic or bool(VARYING & set(names_in_argv(strategy)))
    return drawn or not isinstance(strategy, SqlStrategy)


def _unused(sweep: Sweep) -> Iterator[str]:
    for strategy in sweep.strategies:
        if isinstance(strategy, SqlStrategy):
            bound = {name for angle in strategy.angles for name in angle}
            for name in sorted(bound - _names(strategy.query)) if _is_sql(strategy.query) else ():
                yield f"The angles of {strategy.name!r} bind ${name}, which {strategy.query.file} does not use."


def _blind_spots(sweep: Sweep) -> Iterator[str]:
    if len(sweep.strategies) == 1:
        yield "There is one strategy only: what it is blind to is never found, however many rounds are quiet."
    if len(sweep.fingerprint.fields) == 1:
        name = sweep.fingerprint.fields[0]
        yield f"The fingerprint is {name!r} alone: distinct failures of one {name} merge into one finding."
    if isinstance(sweep.judge, NoJudge):
        yield "Nobody judges: every finding stays unjudged, false alarms included."


def _judging(sweep: Sweep, base: Path) -> Iterator[str]:
    """Yield what would keep the judge from answering here, and what makes a panel no better than one of its members."""
    judge = sweep.judge
    yield from _in_a_child(judge, "the judge", base)
    if isinstance(judge, SqlJudge) and judge.panel > 1 and not _names(judge.query) & BOUND_FOR_A_JUDGE:
        yield f"{judge.query.file} uses neither $member nor $seed: all {judge.panel} members of the panel say the same."


def _searching(sweep: Sweep, base: Path) -> Iterator[str]:
    """Yield what would keep the material from being printed here, or a strategy from running."""
    yield from _in_a_child(sweep.material, "the material", base)
    for strategy in sweep.strategies:
        yield from _in_a_child(strategy, f"the strategy {strategy.name!r}", base)


def _in_a_child(who: Part, name: str, base: Path) -> Iterator[str]:
    """Yield what a child or a service would lack: a program or module, and variables that it is to be given."""
    if isinstance(who, CommandJudge | CommandStrategy | CommandMaterial):
        yield from _program(who.argv[0], name, base)
    if isinstance(who, PythonJudge | PythonStrategy) and not _is_found(who.call, base):
        effect = "every finding stays undecided" if isinstance(who, PythonJudge) else "it is not run in any round"
        yield (
            f"T{name[1:]} calls {who.call}: no such module is beside the sweep, in its project or installed. "
            f"Run here, {effect}."
        )
    if isinstance(who, Service) and who.ca_file is not None and not (base / who.ca_file).is_file():
        yield f"T{name[1:]} trusts the authorities in {who.ca_file}, which is no file: nothing can be asked of it here."
    if isinstance(who, InAChild):
        for path in who.reads:
            if not (base / path).exists():
                yield f"T{name[1:]} is to read {path}, which is not there."
    if isinstance(who, CommandMaterial | CommandJudge | PythonJudge | CommandStrategy | PythonStrategy | Service):
        for variable in who.env:
            if variable not in os.environ:
                yield f"T{name[1:]} is to be given the variable {variable}, which is not set here."

    for model in models_of(who):
        if model.api_key_env is not None and model.api_key_env not in os.environ:
            yield f"The key of {model.model} is in the variable {model.api_key_env}, which is not set here."
        if model.cost(1, 1) is None:
            yield f"The price of {model.model} is not known: what {name} costs is counted as nothing."


def _program(argv0: str, name: str, base: Path) -> Iterator[str]:
    from drysweep_pipeline.programs import found, placeholders

    if placeholders([argv0]):
        return
    program = found(argv0, base)
    if Path(program).is_absolute() and Path(program).is_file() and not os.access(program, os.X_OK):
        yield f"The program {argv0!r} of {name} may not be executed: chmod +x {program}"
    elif shutil.which(program) is None:
        yield f"The program {argv0!r} of {name} is found neither beside the sweep nor on the PATH."


def _telling(sweep: Sweep, base: Path) -> Iterator[str]:
    """Yield what would keep a receiver from being told here."""
    for number, receiver in enumerate(sweep.notify):
        name = f"{receiver.kind} (notify[{number}])"
        if receiver.ca_file is not None and not (base / receiver.ca_file).is_file():
            yield f"The receiver {name} trusts the authorities in {receiver.ca_file}, which is no file."
        for variable in variables(receiver.headers) if isinstance(receiver, Webhook) else ():
            if variable not in os.environ:
                yield f"The receiver {name} is sent the variable {variable} in a header, which is not set here."
        if receiver.url_env is None:
            continue
        address = os.environ.get(receiver.url_env, "").strip()
        if not address:
            yield f"The address of the receiver {name} is in the variable {receiver.url_env}, which is not set here."
        elif fault := fault_of_secret_url(address, allow_plain_http=receiver.allow_plain_http):
            yield f"The variable {receiver.url_env} holds no address that {name} can be posted to: {fault}."


def _is_found(call: str, base: Path) -> bool:
    """Tell whether the module of a call can be found where a child will look for it; nothing is imported."""
    from drysweep_pipeline.programs import search_path

    module = call.partition(":")[0].partition(".")[0]
    if any(Path(folder, name).exists() for folder in search_path(base) for name in (module, f"{module}.py")):
        return True
    with suppress(ValueError):
        return importlib.util.find_spec(module) is not None
    return True


def _unwatched(sweep: Sweep) -> Iterator[str]:
    """Yield the strategies that no canary watches, where some are watched."""
    if sweep.canaries is None:
        return
    for name in unwatched(sweep):
        yield f"No canary is expected of the strategy {name!r}: if it went blind, nobody would know."


def _ceilings(sweep: Sweep) -> Iterator[str]:
    k, rounds, calls, price = sweep.convergence.k, sweep.budget.rounds, sweep.budget.calls, sweep.price(1)
    if k > rounds:
        yield f"K is {k} and the ceiling is {rounds} rounds: this sweep cannot converge."
    elif k * price > calls:
        yield f"{k} quiet rounds take {k * price} calls and the ceiling is {calls}: it cannot converge."
    yield from _not_held(sweep)
    least = price + (0 if isinstance(sweep.judge, NoJudge) else sweep.judge.worst.calls * sweep.judge.panel)
    if least > calls:
        yield f"A wave and a panel on one finding take {least} calls and the ceiling is {calls}: nothing is judged."
    if sweep.convergence.cover == "all_angles":
        for strategy in sweep.strategies:
            if len(strategy.angles) > rounds:
                many = len(strategy.angles)
                yield f"{strategy.name!r} has {many} angles, more than the ceiling of {rounds} rounds can cover."


def _not_held(sweep: Sweep) -> Iterator[str]:
    """Yield who may use what a ceiling is on without saying how much: it is known only when it is spent."""
    for ceiling in ("tokens", "cost_usd"):
        limit = getattr(sweep.budget, ceiling)
        if limit is None:
            continue
        for strategy in sweep.strategies:
            if isinstance(strategy, CommandStrategy) and not getattr(strategy.worst, ceiling):
                yield (
                    f"{strategy.name!r} does not say how much of {ceiling} it takes at_most: what it reports counts "
                    "afterwards, and side by side with others it may pass the ceiling."
                )
            elif getattr(strategy.worst, ceiling) > limit:
                yield f"{strategy.name!r} may take more of {ceiling} than the ceiling of {limit:g}: it is not run."


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


def _is_sql(query: Query) -> bool:
    try:
        _checked(query)
    except Refused:
        return False
    return True


def _names(query: Query) -> frozenset[str]:
    return _checked(query) if _is_sql(query) else frozenset()


def document_of(declaration: Declaration) -> Document | None:
    """Return the lines of a declaration, None where its file is gone or says something else by now."""
    try:
        if read_declaration(declaration.path).digest != declaration.digest:
            return None
        return read_yaml(declaration.path).under("attributes")
    except DeclarationError:
        return None
