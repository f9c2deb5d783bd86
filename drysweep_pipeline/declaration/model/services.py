"""Services as they are declared: where they are, what they are sent beside the question, and how long is waited."""

from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from drysweep_pipeline import addresses
from drysweep_pipeline.declaration.model.parts import AtMost, Part, first_repeated, is_ours_to_pass_on, not_allowed
from drysweep_pipeline.values import Usage

MOST_RETRIES = 10


def _can_be_sent(headers: dict[str, str]) -> dict[str, str]:
    repeated = first_repeated([name.lower() for name in headers])
    if repeated is not None:
        name = list(headers)[repeated]
        raise not_allowed(f"the header {name} is there twice", "case does not matter in the name of one", (name,))
    for name, value in headers.items():
        fault = addresses.fault_of_header(name, value)
        if fault is not None:
            raise not_allowed(*fault, at=(name,))
    for variable in addresses.variables(headers):
        is_ours_to_pass_on(variable)
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_can_be_sent)]


class Endpoint(Part):
    """Where something is posted over HTTP, what goes along in headers, and how often it is tried again."""

    allow_plain_http: StrictBool = Field(default=False, description="Whether an address without TLS is allowed")
    url: str = Field(description="Where the task is posted; https, unless allow_plain_http")
    headers: Headers = Field(
        default_factory=dict, description="What is sent as headers; {env.NAME} is replaced by that variable"
    )
    ca_file: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="A file with the authorities that are trusted, relative to the declaration"
    )
    retries: StrictInt = Field(
        default=2,
        ge=0,
        le=MOST_RETRIES,
        description="How often a call is tried again that was not answered; each is a call",
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str, info: ValidationInfo) -> str:
        fault = addresses.fault_of_url(url, allow_plain_http=info.data.get("allow_plain_http", False))
        if fault is not None:
            raise not_allowed(*fault)
        return url


class Service(Endpoint):
    """A service that answers over HTTP, and what one call of it uses at most."""

    at_most: AtMost = Field(
        default=AtMost(), description="What one call may use at most; that much is set aside before it begins"
    )

    @property
    def env(self) -> tuple[str, ...]:
        """The variables that hold what is sent in headers."""
        return addresses.variables(self.headers)

    @property
    def worst(self) -> Usage:
        """What one call uses at most, as declared."""
        return self.at_most.usage
