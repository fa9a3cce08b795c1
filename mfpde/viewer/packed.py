"""Numbers as text in a page: a description as JSON, arrays after it, deflated, in base64.

Halves are the 16-bit numbers of IEEE 754, times a unit that puts the largest size at 2^15: each
value is right to 2^-11 of itself down to 2e-9 of the largest, and to 1e-12 of the largest below.
Neighbours are similar: the differences of their bits, high bytes before low bytes, deflate to
less (the idea of the filters of PNG).  A browser inflates by itself (DecompressionStream).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray

LARGEST_HALF = 2.0**15
SMALLEST_SINGLE = 1e-37
"""Units are at least that, so that the page can divide by them in single precision."""


class Pack:
    """Arrays one after the other; each is told by where it begins and how long it is."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def add_halves(self, values: FloatArray) -> dict[str, Any]:
        """Append numbers as halves times a unit; return where they are."""
        unit = max(float(np.abs(values).max()) / LARGEST_HALF, SMALLEST_SINGLE)
        bits = (values.ravel() / unit).astype(np.float16).view(np.uint16)
        steps = np.diff(bits, prepend=np.uint16(0))
        high, low = (steps >> 8).astype(np.uint8), steps.astype(np.uint8)
        return {"unit": unit, **self._add(high.tobytes() + low.tobytes(), bits.size)}

    def add_singles(self, values: FloatArray) -> dict[str, Any]:
        """Append numbers of four bytes; return where they are."""
        return self._add(values.astype("<f4").tobytes(), values.size)

    def _add(self, data: bytes, count: int) -> dict[str, Any]:
        place = {"at": self._length, "count": count}
        self._pieces.append(data)
        self._length += len(data)
        return place

    def text(self, description: object) -> str:
        """Return the length of the description, itself and the arrays, as text."""
        told = json.dumps(description, allow_nan=False, separators=(",", ":")).encode()
        whole = [len(told).to_bytes(4, "little"), told, *self._pieces]
        return base64.b64encode(zlib.compress(b"".join(whole), 9)).decode()


def round_to(values: FloatArray | Sequence[float], digits: int) -> list[float | None]:
    """Return numbers to so many digits; None for what is no number."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None
        for value in np.asarray(values).ravel().tolist()
    ]
