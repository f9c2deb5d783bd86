"""Receivers as they are declared: who is told what a campaign came to, a class a kind, and of which events."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, ValidationInfo, field_validator

from drysweep_pipeline import addresses
from drysweep_pipeline.declaration.model.parts import EnvironmentName, Part, first_repeated, not_allowed
from drysweep_pipeline.declaration.model.services import MOST_RETRIES, Headers

MOST_SECONDS = 60.0
Occasion = Literal["outcome", "needs_decision", "new_blocker"]
OCCASIONS: tuple[Occasion, ...] = ("outcome", "needs_decision", "new_blocker")


class Receiver(Part):
    """What is declared of everybody who is told: of what, how long is waited, and how often it is tried again."""

    on: tuple[Occasion, ...] = Field(
        default=OCCASIONS,
        min_length=1,
        description="Of what: another outcome than last time, a person who has to decide, a blocker that is new",
    )
    allow_plain_http: StrictBool = Field(default=False, description="Whether an address without TLS is allowed")
    ca_file: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="A file with the authorities that are trusted, relative to the declaration"
    )
    retries: StrictInt = Field(
        default=2, ge=0, le=MOST_RETRIES, description="How often it is tried again within timeout_s"
    )
    timeout_s: float = Field(default=10.0, gt=0, le=MOST_SECONDS, description="How long is waited, all tries together")

    @field_validator("on")
    @classmethod
    def _names_each_once(cls, on: tuple[Occasion, ...]) -> tuple[Occasion, ...]:
        repeated = first_repeated(list(on))
        if repeated is not None:
            raise not_allowed(f"{on[repeated]!r} is there twice", at=(repeated,))
        return on


class Webhook(Receiver):
    """Something that is posted a JSON object; its address is written out, or kept in a variable if it is a secret."""

    kind: Literal["webhook"] = Field(description="A JSON object is posted")
    url: str | None = Field(default=None, description="Where it is posted; https, unless allow_plain_http")
    url_env: EnvironmentName | None = Field(
        default=None, validate_default=True, description="The variable that holds the address, where that is a secret"
    )
    headers: Headers = Field(
        default_factory=dict, description="What is sent as headers; {env.NAME} is replaced by that variable"
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None, info: ValidationInfo) -> str | None:
        fault = addresses.fault_of_url(url, allow_plain_http=info.data["allow_plain_http"]) if url is not None else None
        if fault is not None:
            what, help = fault
            raise not_allowed(
                what, "name the variable that holds it: url_env: NAME" if "{env." in (url or "") else help
            )
        return url

    @field_validator("url_env")
    @classmethod
    def _is_the_only_address(cls, url_env: str | None, info: ValidationInfo) -> str | None:
        if "url" in info.data and (info.data["url"] is None) == (url_env is None):
            what = "has both url and url_env" if url_env else "has no address"
            raise not_allowed(f"the webhook {what}", "url: https://... or url_env: NAME")
        return url_env


class Slack(Receiver):
    """An incoming webhook of Slack; whoever knows its address may post, so that it is kept in a variable."""

    kind: Literal["slack"] = Field(description="A message is posted that Slack shows")
    url_env: EnvironmentName = Field(description="The variable that holds the address of the incoming webhook")


AnyReceiver = Annotated[Webhook | Slack, Field(discriminator="kind")]
