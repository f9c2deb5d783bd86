"""Canaries as they are declared: known problems to plant, and who should see them."""

from typing import Annotated, Any

from pydantic import (
    Field,
    field_validator,
)
from pydantic.json_schema import SkipJsonSchema

from drysweep_pipeline.declaration.model.materials import (
    AnyMaterial,
    CommandMaterial,
    FilesMaterial,
    RegistryMaterial,
    ScriptedMaterial,
    TablesMaterial,
)
from drysweep_pipeline.declaration.model.parts import Name, Part, Scalar, first_repeated, not_allowed
from drysweep_pipeline.declaration.model.strategies import Strategy
from drysweep_pipeline.fingerprint import identity, token


class Canary(Part):
    """A planted problem: the finding that it is, and who should report it; everybody, always, unless said otherwise.

    ``angles``: it is expected only where the angle of the round has all the values of one of these.
    """

    name: Name = Field(description="Its own name: lower-case letters, digits and _, a letter first")
    finding: dict[str, Scalar] = Field(
        min_length=1, description="The finding that it is: a value for each field of the fingerprint"
    )
    strategies: tuple[Name, ...] = Field(default=(), description="Who should report it; everybody unless given")
    angles: tuple[dict[str, Scalar], ...] = Field(
        default=(), description="It is expected only where the angle of the round has all the values of one of these"
    )

    def expected(self, strategy: str, angle: dict[str, Any]) -> bool:
        """Tell whether a strategy should report it at an angle."""
        if self.strategies and strategy not in self.strategies:
            return False
        return not self.angles or any(wanted.items() <= angle.items() for wanted in self.angles)


class Canaries(Part):
    """Known problems to plant in a copy of the snapshot.

    ``digest`` of the folder is filled in when this is read. ``path`` is for material that has files, ``rows`` (by
    table) for material that has tables. ``marks``: words that stand in what is planted, and nowhere else, beside its
    paths and the names of its services.
    """

    expect: tuple[Canary, ...] = Field(min_length=1, description="The planted problems")
    path: str = Field(default="", description="A folder of files to plant, for material that has files")
    rows: dict[str, Annotated[tuple[dict[str, Scalar | None], ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="Rows to plant, by table, for material that has tables"
    )
    marks: tuple[str, ...] = Field(default=(), description="Words that stand in what is planted, and nowhere else")
    digest: SkipJsonSchema[str] = ""

    @field_validator("expect")
    @classmethod
    def _have_names_of_their_own(cls, expect: tuple[Canary, ...]) -> tuple[Canary, ...]:
        repeated = first_repeated([canary.name for canary in expect])
        if repeated is not None:
            raise not_allowed(f"two canaries are named {expect[repeated].name!r}", at=(repeated, "name"))
        return expect


def can_be_planted(canaries: Canaries, material: "AnyMaterial") -> None:
    """Refuse files where the material has tables, and rows where it has files."""
    if isinstance(material, ScriptedMaterial):
        raise not_allowed("nothing can be planted in material of the kind scripted")
    wanted, other = ("path", "rows") if isinstance(material, RegistryMaterial | FilesMaterial) else ("rows", "path")
    if getattr(canaries, other):
        raise not_allowed(f"{other!r} is not for material of the kind {material.kind}", f"give {wanted!r}", (other,))
    if not getattr(canaries, wanted):
        raise not_allowed(f"{wanted!r} is missing, which says what to plant")
    known = material.tables if isinstance(material, TablesMaterial | CommandMaterial) else {}
    for table in canaries.rows:
        if table not in known:
            what = f"the material has no table {table!r}"
            raise not_allowed(what, f"there is {', '.join(known)}", ("rows", table))


def can_be_reported(canary: Canary, index: int, fields: tuple[str, ...]) -> None:
    """Refuse a canary whose finding has no fingerprint, or more than goes into one."""
    at = ("expect", index, "finding")
    for name in fields:
        try:
            token(canary.finding[name])
        except KeyError:
            what = f"{name!r} is missing, which is part of the fingerprint"
            raise not_allowed(what, f"a fingerprint has {', '.join(fields)}", at) from None
        except ValueError as error:
            raise not_allowed(f"{name!r} identifies nothing: {error}", at=(*at, name)) from None
    for name in canary.finding:
        if name not in fields:
            what = f"{name!r} is no part of the fingerprint, so nobody would look at it"
            raise not_allowed(what, f"a fingerprint has {', '.join(fields)}", (*at, name))


def are_told_apart(expect: tuple[Canary, ...], fields: tuple[str, ...]) -> None:
    """Refuse two canaries that are the same finding: nobody could say which of them was seen."""
    identities = [identity([canary.finding[name] for name in fields]) for canary in expect]
    repeated = first_repeated(identities)
    if repeated is not None:
        first = expect[identities.index(identities[repeated])].name
        raise not_allowed(f"it is the finding of the canary {first!r} as well", at=("expect", repeated, "finding"))


def can_be_expected(canary: Canary, index: int, strategies: tuple[Strategy, ...]) -> None:
    """Refuse a canary that names a strategy that is not there, or that no strategy is ever expected to report."""
    names = [strategy.name for strategy in strategies]
    for number, name in enumerate(canary.strategies):
        if name not in names:
            what = f"there is no strategy {name!r}"
            raise not_allowed(what, f"there is {', '.join(names)}", ("expect", index, "strategies", number))
    for number, wanted in enumerate(canary.angles):
        only = canary.model_copy(update={"angles": (wanted,)})
        if not any(only.expected(each.name, angle) for each in strategies for angle in each.angles or ({},)):
            what = "no strategy that should report this canary has such an angle"
            raise not_allowed(what, at=("expect", index, "angles", number))
