r"""Numbers as text in a page: quantised logarithms, differences, deflate, base64.

Positive values are kept as 16-bit logarithms,

    code = 1 + round( (2^16 - 2) log(value / low) / log(high / low) ),    0 below low,

so that each is known to the same relative error, half a step.  Neighbours are similar: the
differences of codes, high bytes before low bytes, deflate to less (the idea of the filters of
PNG).  A browser inflates by itself (DecompressionStream).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray

LEVELS = 2**16 - 2
DEEPEST = 1e-12
"""Share of the largest value below which values are shown as nothing."""

Codes = NDArray[np.uint16]


@dataclass(frozen=True)
class LogarithmicScale:
    """Values from ``low`` to ``high`` as codes from 1 to 65535; 0 is below ``low``."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[FloatArray]) -> LogarithmicScale:
        """Scale of some arrays, at most twelve decades deep."""
        high = max((float(array.max(initial=0.0)) for array in values), default=0.0)
        if not high > 0:
            return cls(1.0, 1.0)
        floor = DEEPEST * high
        low = min(
            (float(array[array >= floor].min(initial=high)) for array in values),
            default=high,
        )
        return cls(low, high)

    @property
    def step(self) -> float:
        """Difference of logarithms from one code to the next."""
        return float(np.log(self.high / self.low)) / LEVELS

    @property
    def relative_error(self) -> float:
        """Largest relative error of a value that is not below ``low``."""
        return float(np.expm1(self.step / 2))

    def codes(self, values: FloatArray) -> Codes:
        """Codes of values."""
        shown = np.clip(values, self.low, self.high)
        step = self.step or 1.0
        codes = 1 + np.round(np.log(shown / self.low) / step)
        # Half a step of room: the smallest value itself must not fall below the floor.
        is_below = values < self.low * (1 - 1e-9)
        return np.where(is_below, 0, codes).astype(np.uint16)

    def values(self, codes: Codes) -> FloatArray:
        """Values of codes; 0 for those below ``low``."""
        found = self.low * np.exp(self.step * (codes.astype(np.float64) - 1))
        return np.where(codes == 0, 0.0, found)


@dataclass
class Stream:
    """Arrays one after the other, to be deflated together."""

    pieces: list[bytes] = field(default_factory=list)
    length: int = 0

    def add_codes(self, codes: Codes) -> dict[str, Any]:
        """Append codes as differences, high bytes first; return where they are."""
        flat = codes.ravel()
        differences = np.diff(flat, prepend=np.uint16(0))
        high, low = (differences >> 8).astype(np.uint8), differences.astype(np.uint8)
        return self._add("codes", high.tobytes() + low.tobytes(), len(flat))

    def add_floats(self, values: FloatArray) -> dict[str, Any]:
        """Append 4-byte numbers; return where they are."""
        return self._add("floats", values.astype("<f4").tobytes(), values.size)

    def _add(self, form: str, data: bytes, count: int) -> dict[str, Any]:
        place = {"form": form, "at": self.length, "count": count}
        self.pieces.append(data)
        self.length += len(data)
        return place

    def text(self, description: Any) -> str:
        """The description as JSON and the stream after it, deflated, in base64."""
        told = json.dumps(description, allow_nan=False, separators=(",", ":")).encode()
        whole = [len(told).to_bytes(4, "little"), told, *self.pieces]
        return base64.b64encode(zlib.compress(b"".join(whole), 9)).decode()


class Unpacked(NamedTuple):
    """A description, and the bytes of the stream that it speaks of."""

    description: Any
    data: bytes

    def codes(self, place: dict[str, Any]) -> Codes:
        """Codes at a place of the stream, as the page finds them."""
        count, start = int(place["count"]), int(place["at"])
        pairs = np.frombuffer(self.data, np.uint8, 2 * count, start).astype(np.uint16)
        differences = (pairs[:count] << 8) | pairs[count:]
        return np.cumsum(differences, dtype=np.uint16)

    def floats(self, place: dict[str, Any]) -> FloatArray:
        """Numbers at a place of the stream, as the page finds them."""
        count, start = int(place["count"]), int(place["at"])
        return np.frombuffer(self.data, "<f4", count, start).astype(np.float64)


def unpacked(text: str) -> Unpacked:
    """Return what a stream's text holds."""
    whole = zlib.decompress(base64.b64decode(text))
    end = 4 + int.from_bytes(whole[:4], "little")
    return Unpacked(json.loads(whole[4:end]), whole[end:])
