"""One question to one model: asked, asked again where that may help, counted, and over at its deadline.

The library is used for one request at a time. What is asked again, how often and for whose money is decided here,
because each request is a call; what an answer means is its reader's business.
"""

import asyncio
import json
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from drysweep_pipeline.budget import Meter
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Model, Terms
from drysweep_pipeline.errors import FinderError, Refused
from drysweep_pipeline.finders import jsonl
from drysweep_pipeline.llm import ends, failures, models
from drysweep_pipeline.llm.failures import final
from drysweep_pipeline.posting import Unwaited
from drysweep_pipeline.values import MOST_USED, ONE_CALL, Usage

T = TypeVar("T")
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0
_TOLD_CHARACTERS = 500
_FENCE = "```"
# What a provider's protocol and an answer that was not accepted add to a request.
_ADDED_TOKENS = 2_000


class Misshapen(ValueError):
    """An answer is not of the declared shape.

    The text says what is wrong to people. ``told`` says it to the model, in words that are all ours: what it wrote may
    be what the material had it write.
    """

    def __init__(self, what: str, told: str = "it is not one JSON object of the shape that is asked for") -> None:
        super().__init__(what)
        self.told = told


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What a model is asked: instructions, data that it is to look at, the shape of its answer, and who reads it.

    ``data`` makes the data anew for each request. ``read`` takes the answer's JSON object. Raises ``Misshapen``.
    """

    instructions: str
    data: Callable[[], str]
    name: str
    shape: Mapping[str, Any]
    read: Callable[[Any], T]


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What came of it: what was read, or why there is nothing; and what all requests took."""

    said: T | None
    usage: Usage
    failure: FinderError | None = None


def ask(
    model: Model, terms: Terms, question: Question[T], worst: Usage, meter: Meter, children: Children, seconds: float
) -> Answer[T]:
    """Ask, on one call that is already set aside, and return what came of it; raises nothing.

    ``worst``: what one request uses at most. ``seconds``: how long all of it may take. It ends with ``children``.
    """
    conversation = _Conversation(model, terms, question, worst, meter, seconds)
    said, failure = None, None
    try:
        _check_size(question, terms, worst)
        # Before the clock begins: loading the library is no slowness of the model.
        ready = models.ready(model)
        with children.holding(conversation):
            said = asyncio.run(conversation.held(ready))
    except Exception as error:  # whatever the library raises is a model that did not answer
        failure = failures.failure_of(error, model, _key(model))
    used = conversation.used
    return Answer(said, used if used.calls else ONE_CALL, failure)


def _check_size(question: Question[Any], terms: Terms, worst: Usage) -> None:
    """Raise ``FinderError`` where a request would be larger than what is set aside for it."""
    texts = question.instructions, question.data(), *2 * [json.dumps(question.shape)]
    most = sum(len(text.encode()) for text in texts) + _ADDED_TOKENS + terms.max_output_tokens
    if most > worst.tokens:
        what = f"too_long: what is asked takes up to {most} tokens, and {worst.tokens} are set aside for it"
        raise final(what, help="use fewer fields and choices, or raise max_chars")


class _Conversation(Generic[T]):
    def __init__(
        self, model: Model, terms: Terms, question: Question[T], worst: Usage, meter: Meter, seconds: float
    ) -> None:
        self._model, self._terms, self._question = model, terms, question
        self._worst, self._meter, self._seconds = worst, meter, seconds
        self._sent = len(question.data().encode())
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._killed = False
        self.used = Usage()

    def kill(self) -> None:
        """End it from another thread."""
        with self._lock:
            self._killed = True
            if self._running is not None:
                loop, task = self._running
                loop.call_soon_threadsafe(task.cancel)

    async def held(self, ready: models.Ready) -> T:
        """Hold it until it is answered, over, or killed. Raises ``FinderError``."""
        task = asyncio.current_task()
        assert task is not None
        # Where names are looked up, which nothing can stop.
        asyncio.get_running_loop().set_default_executor(Unwaited(max_workers=1))
        with self._lock:
            if self._killed:
                raise FinderError("interrupted before it was asked")
            self._running = asyncio.get_running_loop(), task
        try:
            async with asyncio.timeout(self._seconds):
                return await self._told(ready)
        except TimeoutError:
            what = f"timeout: {self._model.model} had not answered after {self._seconds:g} s"
            raise FinderError(what, status="timeout") from None
        except asyncio.CancelledError:
            if not self._killed:
                raise
            raise FinderError("interrupted") from None
        finally:
            with self._lock:
                self._running = None

    async def _told(self, ready: models.Ready) -> T:
        """Ask, and tell the model what is wrong with its answer as often as that is allowed."""
        async with ready as model:
            wrong: Misshapen | None = None
            for left in range(self._terms.reasks, -1, -1):
                if wrong is not None:
                    self._meter.more()
                response = await self._responded(model, wrong)
                ends.check_read(response.usage, self._sent)
                text = ends.text_of(response, ready.heard)
                try:
                    return self._question.read(_object(text))
                except Misshapen as error:
                    wrong = error
                    if not left:
                        kind = "invalid" if text.strip() else "empty"
                        raise final(f"{kind}: {self._model.model} gave no answer of the shape: {error}") from None
        raise AssertionError("the last answer is read or refused")

    async def _responded(self, model: Any, wrong: Misshapen | None) -> Any:
        """Return the response to one request, made again while that may help and time is left."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._seconds
        for tried in range(self._terms.retries + 1):
            try:
                return await self._requested(model, wrong)
            except Exception as error:
                if not failures.passing(error) or tried == self._terms.retries:
                    raise
                pause = _pause(error, tried)
                if loop.time() + pause >= until:
                    failure = failures.failure_of(error, self._model, _key(self._model))
                    what = f"{failure.what} (to be asked again in {pause:g} s, which is later than timeout_s)"
                    raise FinderError(what, status=failure.status) from None
            await asyncio.sleep(pause)
            self._meter.more()
        raise AssertionError("the last try returns or raises")

    async def _requested(self, model: Any, wrong: Misshapen | None) -> Any:
        """Make one request, and count what it used: the worst where nobody says."""
        before, self.used = self.used, self.used + self._worst
        try:
            response = await models.library().model_request(
                model,
                [_message(self._question, wrong)],
                model_settings=_settings(self._model, self._terms),
                model_request_parameters=_parameters(model, self._question),
                instrument=False,
            )
        except Exception as error:
            if failures.costs_nothing(error):
                self.used = before + ONE_CALL
            raise
        self.used = before + self._taken(response.usage)
        return response

    def _taken(self, usage: Any) -> Usage:
        tokens = usage.input_tokens + usage.output_tokens
        # Before any sum is made with it: a number of any length may be given.
        if usage.unmeasured_requests or not usage.input_tokens or not Usage(1, tokens).within(MOST_USED):
            return self._worst
        taken = Usage(1, tokens, self._model.cost(usage.input_tokens, usage.output_tokens) or 0.0)
        return taken if taken.within(MOST_USED) else self._worst


def _message(question: Question[Any], wrong: Misshapen | None) -> Any:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    instructions = question.instructions
    if wrong is not None:
        # The answer itself is not sent back: how much is sent stays bounded, and what it was misled by stays out.
        instructions += f"\n\nYour last answer was not accepted: {wrong.told[:_TOLD_CHARACTERS]}"
    return ModelRequest(parts=[UserPromptPart(question.data())], instructions=instructions)


def _settings(model: Model, terms: Terms) -> Any:
    settings: dict[str, Any] = {"max_tokens": terms.max_output_tokens, "max_retries": 0}
    if terms.temperature is not None:
        settings["temperature"] = terms.temperature
    if model.base_url is None and model.model.partition(":")[0].startswith("openai"):
        settings["openai_store"] = False
    return settings


def _parameters(model: Any, question: Question[Any]) -> Any:
    """Return how an answer is to be given: no tools, as JSON of a shape, which is told where it cannot be enforced."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    enforced = model.profile.get("supports_json_schema_output", False)
    shape = OutputObjectDefinition(json_schema=dict(question.shape), name=question.name, strict=True)
    return ModelRequestParameters(
        output_mode="native" if enforced else "prompted", output_object=shape, allow_text_output=False
    )


def _object(text: str) -> Any:
    """Return the JSON that an answer is, strictly read. Raises ``Misshapen``."""
    stripped = text.strip()
    if not stripped:
        raise Misshapen("it was empty", "it was empty")
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE) and len(stripped) > 2 * len(_FENCE):
        stripped = stripped[len(_FENCE) : -len(_FENCE)].removeprefix("json")
    try:
        return jsonl.value(stripped.strip())
    except FinderError as error:
        raise Misshapen(error.what) from None
    except ValueError as error:
        raise Misshapen(f"it is not one JSON object: {error}") from None


def _pause(error: Exception, tried: int) -> float:
    """Return how many seconds to wait: as many as the provider says, else longer each time, and not all alike."""
    asked = getattr(error, "retry_after", None)
    if isinstance(asked, int | float) and asked >= 0:
        return float(asked)
    longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**tried)
    return random.uniform(longest / 2, longest)  # noqa: S311 - only to spread requests


def _key(model: Model) -> str | None:
    try:
        return models.key_of(model)
    except Refused:
        return None
