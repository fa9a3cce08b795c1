"""Eight numbers as one value in compiled kernels, for loops that must be in registers.

The compiler vectorises loops over neighbours in memory, but does not keep the sums of a
matrix product in registers by itself.  Octets stay there: they are added, subtracted and
multiplied by ``+``, ``-`` and ``*`` like numbers, and a machine with shorter registers
takes two or four for one octet.  Points in blocks of eight are for loops that the compiler
does turn into vector instructions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import (
    intrinsic,
    lower_builtin,
    models,
    register_model,
    type_callable,
)

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

LANES = 8
"""Points in a block."""

_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_BYTES = 8


@compiled
def lane_points(points: FloatArray, first: int, work: FloatArray) -> None:
    """Put coordinate i of points ``first``, ``first`` + 1, ... in row i of ``work``.

    ``points`` (n, d); ``work`` has rows of LANES numbers, one after another.  Places behind
    the last point repeat that point.
    """
    n, d = points.shape
    for j in range(LANES):
        p = min(first + j, n - 1)
        for i in range(d):
            work[i * LANES + j] = points[p, i]


class OctetType(types.Type):
    """Numba's type of an octet."""


# Without types of their own.
_types: Any = OctetType
_primitive: Any = models.PrimitiveModel
_tools: Any = cgutils
_lowered: Any = lower_builtin

_OCTET = _types("Octet")


# A plain vector of eight numbers.
register_model(OctetType)(lambda *of_type: _primitive(*of_type, _NUMBERS))


def octets(count: int) -> int:
    """Return how many octets hold ``count`` numbers."""
    return -(-count // LANES)


def zeros_in_octets(*shape: int) -> FloatArray:
    """Array of zeros that begins at a cache line: octets that cross lines take longer."""
    size = int(np.prod(shape))
    memory = np.zeros(size + LANES)
    first = -(memory.ctypes.data // _BYTES) % LANES
    return memory[first : first + size].reshape(shape)


def _for_kernels(typed: Callable[..., Any]) -> Any:
    """Turn ``typed``, a function of the arguments' types, into a function for kernels."""
    return intrinsic(typed)


def _check(array: Any) -> None:
    """Raise ``TypingError`` unless the array is contiguous."""
    if array.layout != "C":
        raise TypingError(f"octets are read from contiguous arrays, not from {array}")


def _pointer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Place in memory of the octet that begins at an index of an array."""
    kind, of_indices = signature.args[:2]
    array = context.make_array(kind)(context, builder, values[0])
    indices = _tools.unpack_tuple(builder, values[1], len(of_indices))
    whole = [
        context.cast(builder, index, of_index, types.intp)
        for index, of_index in zip(indices, of_indices, strict=True)
    ]
    number = _tools.get_item_pointer(context, builder, kind, array, whole)
    return builder.bitcast(number, _NUMBERS.as_pointer())


@_for_kernels
def load(_typing: Any, array: Any, index: Any) -> Any:
    """Return the octet that begins at ``array[index]``; bounds are not checked."""
    _check(array)

    def generated(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _pointer(context, builder, signature, values)
        return builder.load(place, align=_BYTES)

    return _OCTET(array, index), generated


@_for_kernels
def store(_typing: Any, array: Any, index: Any, octet: Any) -> Any:
    """Write an octet from ``array[index]`` on; bounds are not checked."""
    _check(array)

    def generated(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _pointer(context, builder, signature, values)
        builder.store(values[2], place, align=_BYTES)
        return context.get_dummy_value()

    return types.void(array, index, octet), generated


def _chosen(builder: Any, first: Any, second: Any, places: Iterable[int]) -> Any:
    """Octet of the numbers at ``places`` in two octets, one behind the other."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    return builder.shuffle_vector(first, second, ir.Constant(kind, list(places)))


@_for_kernels
def spread(_typing: Any, number: Any) -> Any:
    """Return the octet of one number eight times."""

    def generated(_context: Any, builder: Any, _sig: Any, values: Any) -> Any:
        empty = ir.Constant(_NUMBERS, ir.Undefined)
        first = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(empty, values[0], first)
        return _chosen(builder, one, empty, [0] * LANES)

    return _OCTET(number), generated


@_for_kernels
def mirrored(_typing: Any, octet: Any) -> Any:
    """Return an octet in reversed order."""

    def generated(_context: Any, builder: Any, _sig: Any, values: Any) -> Any:
        return _chosen(builder, values[0], values[0], reversed(range(LANES)))

    return _OCTET(octet), generated


def _alternating(first: int) -> Any:
    """Return a function of two octets that takes from each in turn, from ``first`` on."""
    half = range(first, first + LANES // 2)
    places = [place for i in half for place in (i, LANES + i)]

    def typed(_typing: Any, one: Any, other: Any) -> tuple[Any, Callable[..., Any]]:
        def generated(_context: Any, builder: Any, _sig: Any, values: Any) -> Any:
            return _chosen(builder, values[0], values[1], places)

        return _OCTET(one, other), generated

    return _for_kernels(typed)


first_alternating = _alternating(0)
"""Octet a0, b0, a1, b1, a2, b2, a3, b3 of two octets."""
last_alternating = _alternating(LANES // 2)
"""Octet a4, b4, a5, b5, a6, b6, a7, b7 of two octets."""


def _define(operation: Callable[..., Any], instruction: str) -> None:
    """Let ``operation`` work on octets."""

    def typed(_context: Any) -> Callable[..., Any]:
        def of_octets(one: Any, other: Any) -> Any:
            return one if {one, other} == {_OCTET} else None

        return of_octets

    def generated(_context: Any, builder: Any, _sig: Any, values: Any) -> Any:
        return getattr(builder, instruction)(*values)

    type_callable(operation)(typed)
    _lowered(operation, OctetType, OctetType)(generated)


_define(operator.add, "fadd")
_define(operator.iadd, "fadd")
_define(operator.sub, "fsub")
_define(operator.isub, "fsub")
_define(operator.mul, "fmul")
