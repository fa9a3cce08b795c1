"""The base of all sections of a settings file: unknown keys, kinds, error messages.

A section knows its keys; values are checked by the object that the section builds
(:class:`Attention`, :class:`Circle`, ...), once, when the section is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SkipValidation,
    ValidationError,
    model_validator,
)

from mfpde.arrays import choice
from mfpde.settings.errors import section_lines

# Numbers are checked by the constructors that take them, whose messages say more.
Real = SkipValidation[float]
Whole = SkipValidation[int]
Word = SkipValidation[str]
Seed = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """A table of settings; unknown keys are errors that name the nearest real one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise ValueError("\n".join(section_lines(error, cls))) from error

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.check()
        return self

    def check(self) -> None:
        """Raise ``ValueError`` for errors that show in this section alone."""


def of_kind(kinds: Mapping[str, type[Section]]) -> Callable[[Any], Any]:
    """Return a validator that reads a table as the section that its ``kind`` names."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if "kind" not in value:
            listed = ", ".join(map(repr, kinds))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        chosen = kinds[choice("kind", value["kind"], kinds)]
        return chosen.model_validate(dict(value))

    return read
