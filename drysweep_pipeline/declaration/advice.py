"""What is allowed in a declared sweep and still unwise, a sentence each.

What is wrong is ``checks``' business. No material is opened and no finder is run; where programs, modules, files and
variables are named, this machine is looked at for them.
"""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from drysweep_pipeline.addresses import fault_of_secret_url, variables
from drysweep_pipeline.canaries import unwatched
from drysweep_pipeline.declaration.checks import ALWAYS_BOUND, BOUND_FOR_A_JUDGE, is_sql, names_bound
from drysweep_pipeline.declaration.model import (
    VARYING,
    CommandJudge,
    CommandMaterial,
    CommandStrategy,
    InAChild,
    NoJudge,
    OutsideStrategy,
    Part,
    PythonJudge,
    PythonStrategy,
    Service,
    SqlJudge,
    SqlStrategy,
    Strategy,
    Sweep,
    Webhook,
    models_of,
    names_in_argv,
    query_of,
)
from drysweep_pipeline.declaration.reading import Declaration
from drysweep_pipeline.declaration.secrets import not_set, too_short
from drysweep_pipeline.redaction.known import LEAST


def warnings(declaration: Declaration) -> list[str]:
    """Return what is allowed and still unwise in a sweep, a sentence each; an empty list where nothing is."""
    sweep = declaration.sweep
    here = chain(_searching(sweep, declaration.base), _judging(sweep, declaration.base))
    of_all = chain(_blind_spots(sweep), here, _ceilings(sweep), _unwatched(sweep), _redacting(declaration))
    telling = _telling(sweep, declaration.base)
    return list(chain(_variation(sweep), _unused(sweep), of_all, telling))


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
    drawn = query is not None and bool(names_bound(query) & ALWAYS_BOUND)
    if isinstance(strategy, OutsideStrategy):
        return drawn or not strategy.deterministic or bool(VARYING & set(names_in_argv(strategy)))
    return drawn or not isinstance(strategy, SqlStrategy)


def _unused(sweep: Sweep) -> Iterator[str]:
    for strategy in sweep.strategies:
        if isinstance(strategy, SqlStrategy):
            bound = {name for angle in strategy.angles for name in angle}
            for name in sorted(bound - names_bound(strategy.query)) if is_sql(strategy.query) else ():
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
    yield from _lacking(judge, "the judge", base)
    if isinstance(judge, SqlJudge) and judge.panel > 1 and not names_bound(judge.query) & BOUND_FOR_A_JUDGE:
        yield f"{judge.query.file} uses neither $member nor $seed: all {judge.panel} members of the panel say the same."


def _searching(sweep: Sweep, base: Path) -> Iterator[str]:
    """Yield what would keep the material from being printed here, or a strategy from running."""
    yield from _lacking(sweep.material, "the material", base)
    for strategy in sweep.strategies:
        yield from _lacking(strategy, f"the strategy {strategy.name!r}", base)


def _lacking(who: Part, name: str, base: Path) -> Iterator[str]:
    """Yield what a child, a service or a model would lack here."""
    yield from _code(who, name, base)
    yield from _files(who, name, base)
    if isinstance(who, CommandMaterial | CommandJudge | PythonJudge | CommandStrategy | PythonStrategy | Service):
        for variable in who.env:
            if variable not in os.environ:
                yield f"T{name[1:]} is to be given the variable {variable}, which is not set here."
    for model in models_of(who):
        if model.api_key_env is not None and model.api_key_env not in os.environ:
            yield f"The key of {model.model} is in the variable {model.api_key_env}, which is not set here."
        if model.cost(1, 1) is None:
            yield f"The price of {model.model} is not known: what {name} costs is counted as nothing."


def _code(who: Part, name: str, base: Path) -> Iterator[str]:
    """Yield that a program or module is not there."""
    if isinstance(who, CommandJudge | CommandStrategy | CommandMaterial):
        yield from _program(who.argv[0], name, base)
    if isinstance(who, PythonJudge | PythonStrategy) and not _is_found(who.call, base):
        effect = "every finding stays undecided" if isinstance(who, PythonJudge) else "it is not run in any round"
        yield (
            f"T{name[1:]} calls {who.call}: no such module is beside the sweep, in its project or installed. "
            f"Run here, {effect}."
        )


def _files(who: Part, name: str, base: Path) -> Iterator[str]:
    """Yield the files that are named and not there."""
    if isinstance(who, Service) and who.ca_file is not None and not (base / who.ca_file).is_file():
        yield f"T{name[1:]} trusts the authorities in {who.ca_file}, which is no file: nothing can be asked of it here."
    if isinstance(who, InAChild):
        for path in who.reads:
            if not (base / path).exists():
                yield f"T{name[1:]} is to read {path}, which is not there."


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
