"""Array types, and the checks that every public argument passes before any work.

A check returns the argument in the form that the numerics need, or raises
``ValueError`` with the argument's name, the value that was given and what is allowed.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


LARGEST_COUNT = 10_000_000
"""Points, neurons, layers, runs: more of them fill any memory."""
LARGEST_DIMENSION = 1_000_000
"""Of points whose coordinates are held."""
LONGEST_SHOWN = 120
"""Characters of a wrong value that an error repeats."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Classes of characters that a terminal obeys or hides, in place of showing them."""
CLOSE = 0.6
"""Likeness from which a name is taken for a misspelt one: 'silu' is not 'relu'."""


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return ``array`` itself, made read-only so that frozen objects can share it."""
    array.flags.writeable = False
    return array


def writable(array: FloatArray) -> FloatArray:
    """Return ``array`` without gaps, or a copy of it if it may not be written to.

    For arrays that may not be written to, a kernel would be compiled once more.
    """
    if array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, order="C")


def blocks_of_rows(rows: int, columns: int, most: int) -> list[slice]:
    """Return blocks of ``rows`` with at most ``most`` entries each, or one row."""
    size = max(most // max(columns, 1), 1)
    return [slice(begin, begin + size) for begin in range(0, rows, size)]


def real_array(name: str, values: ArrayLike) -> FloatArray:
    """Return a float64 copy of ``values``; every entry must be a finite number."""
    try:
        given = np.asarray(values)
        if given.dtype == object and any(value is None for value in given.ravel()):
            raise TypeError("None is no number")  # numpy would make NaN of it
        # numpy would drop imaginary parts with no more than a warning.
        array = None if np.iscomplexobj(given) else np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} = {shown(values)} is not an array of real numbers"
        ) from error
    if array is None:
        raise ValueError(
            f"{name} of complex numbers is not an array of real numbers: take its .real"
        )
    check_entries(name, array, np.isfinite(array), "must be finite")
    return array


def check_entries(
    name: str, values: FloatArray, is_right: BoolArray, allowed: str
) -> None:
    """Raise ``ValueError`` for the first entry, a number or a vector, that is not right."""
    if not is_right.all():
        place = tuple(np.argwhere(~is_right)[0].tolist())
        value = values[place]
        text = f"{value:g}" if np.ndim(value) == 0 else shown(value.tolist())
        raise ValueError(f"{_entry(name, place)} = {text} {allowed}")


def _entry(name: str, place: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, place))}]" if place else name


def real_number(
    name: str,
    value: Any,
    *,
    at_least: float = -np.inf,
    above: float = -np.inf,
    at_most: float = np.inf,
) -> float:
    """Return ``value`` as a finite float within the bounds that are given."""
    is_real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        number = float(value) if is_real else math.nan
    except OverflowError:
        number = math.inf  # an int beyond all floats
    if math.isfinite(number) and at_least <= number <= at_most and number > above:
        return number
    kind = "finite" if is_real else "real"
    bounds = {"at least": at_least, "above": above, "at most": at_most}
    parts = [
        f"{word} {bound:g}" for word, bound in bounds.items() if np.isfinite(bound)
    ]
    allowed = ", " + " and ".join(parts) if parts else ""
    raise ValueError(f"{name} = {shown(value)} must be a {kind} number{allowed}")


def whole_number(
    name: str, value: Any, *, at_least: int, at_most: int | None = None
) -> int:
    """Return ``value`` as an int from ``at_least`` to ``at_most``."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < at_least:
        raise ValueError(
            f"{name} = {shown(value)} must be a whole number of at least {at_least}"
        )
    if at_most is not None and value > at_most:
        raise ValueError(f"{name} = {shown(value)} must be at most {at_most}")
    return int(value)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``allowed``; else the error names the nearest one."""
    options = list(allowed)
    if isinstance(value, str) and value in options:
        return value
    listed = ", ".join(repr(option) for option in options)
    raise ValueError(
        f"{name} = {shown(value)}{nearest(value, options)} must be one of {listed}"
    )


def shown(value: Any) -> str:
    """Return the printed form of ``value`` for a line of an error, cut short if long."""
    text = " ".join(_ADDRESS.sub("", repr(value)).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def name_of(function: object) -> str:
    """Return the name of a function, which is the same whenever a program runs."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return str(name).rpartition("<locals>.")[2]


def printable(text: str) -> str:
    """Return ``text`` with what a terminal obeys or hides as escapes; lines and tabs remain.

    Stores, settings and names of files come from anywhere, and could rewrite what is shown.
    """
    return "".join(
        repr(one)[1:-1]
        if unicodedata.category(one) in _UNSEEN and one not in "\n\t"
        else one
        for one in text
    )


def check_kind(name: str, value: object, kind: type, *, source: str) -> None:
    """Raise ``ValueError``, which names where one comes from, unless ``value`` is a ``kind``."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ValueError(
            f"{name} = {shown(value)} must be {article} {kind.__name__}, {source}"
        )


def refuse(name: str, faults: Mapping[str, object]) -> None:
    """Raise ``ValueError`` with the first of the ``faults`` that is there, for ``name``."""
    for fault, is_there in faults.items():
        if is_there:
            raise ValueError(f"{name} {fault}")


def no_measure(name: str, value: object) -> ValueError:
    """Return the error for what is no measure; a run has one."""
    where = ": its last state is run.final" if hasattr(value, "final") else ""
    where = ": rows are those one by one, rows[i]" if hasattr(value, "row") else where
    wanted = "must be a Density, Atoms or a Measure"
    return ValueError(f"{name} = {shown(value)} {wanted}{where}")


def nearest(value: Any, options: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the option closest in spelling, or ``""``."""
    close = difflib.get_close_matches(str(value), list(options), n=1, cutoff=CLOSE)
    return f" (did you mean {close[0]!r}?)" if close else ""


def unit_vectors(name: str, points: ArrayLike) -> FloatArray:
    """Return ``points``, shape (..., d), scaled to unit length; they must be close to it."""
    array = np.atleast_2d(real_array(name, points))
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    wrong = np.abs(lengths - 1.0) > 1e-6
    if wrong.any():
        where = tuple(np.argwhere(wrong[..., 0])[0].tolist())
        raise ValueError(
            f"{_entry(name, where)} has length {float(lengths[where][0]):.6g} "
            f"({shown(array[where].tolist())}); points lie on the unit sphere (length 1)"
        )
    return np.asarray(array / lengths)
