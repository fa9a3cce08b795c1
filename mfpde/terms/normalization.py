r"""Normalisations: how a token x = R theta, theta on the sphere, moves by an update m.

With m_T the part of m along the sphere (names as in arXiv 2510.22026):

    post-LN  v = m_T                R = 1
    pre-LN   v = m_T / R            R' = <theta, m>
    peri-LN  v = m_T / (|m| R)      R' = <theta, m> / |m|
    nGPT     v = alpha m_T / |m|    R = 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, check_entries, choice, real_array, real_number

ROUNDING = 1e-14
"""Size of an update that is nothing but rounding, and has no direction: nothing moves."""
SHORTEST_RADIUS = 1e-6
"""Share of the least radius at the start below which a token is at the origin."""
RADIUS, MEAN_RADIUS = "radius", "mean_radius"
"""Diagnostics of runs: R of all cells or particles, and int R dmu."""
RADIUS_ZERO = (
    "a token came to the origin, where it has no direction: in descent pre- and peri-LN end so; "
    "start from a larger radius, or end earlier"
)


@dataclass(frozen=True)
class Normalization:
    """How a network scales its tokens.

    Begin with ``Normalization("pre", radius=0.5)``.

    Parameters
    ----------
    name
        ``"post"``, which is the equation without one, ``"pre"``, ``"peri"`` or ``"ngpt"``.
    radius
        R > 0 at the start (pre, peri): a number, or a function of points (..., d).  Of
        :class:`Layers` each starts with it anew; None: a layer goes on with the R of the one
        before, the first with 1.
    alpha
        The speed of nGPT, above 0.

    A ``ValueError`` are other names or numbers, and those of another normalisation.
    """

    name: str
    radius: float | Callable[[FloatArray], ArrayLike] | None = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        name = choice("name", self.name, ("post", "pre", "peri", "ngpt"))
        if not (self.radius is None or callable(self.radius)):
            real_number("radius", self.radius, above=0.0)
        real_number("alpha", self.alpha, above=0.0)
        unused = {"radius": name in ("post", "ngpt"), "alpha": name != "ngpt"}
        for one, is_unused in unused.items():
            if is_unused and (given := getattr(self, one)) != 1.0:
                raise ValueError(f"{one} = {given} is none of {name!r}: leave it out")

    @property
    def carries_radius(self) -> bool:
        """Whether a layer goes on with the radii of the one before."""
        return self.radius is None

    def radii_at(self, points: FloatArray, before: ArrayLike = 1.0) -> FloatArray:
        """Return R (...) of tokens that start at ``points`` (..., d), which was ``before``."""
        radius = before if self.radius is None else self.radius
        given = radius(points) if callable(radius) else radius
        radii = np.broadcast_to(real_array("radius", given), points.shape[:-1])
        check_entries("radius", radii, radii > 0, "must be above 0")
        return radii

    def find_motion(
        self, along: FloatArray, radial: FloatArray, radii: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return v (k, ...) and R' (...) from m_T (k, ...), <theta, m> and R (...)."""
        if self.name == "pre":
            return along / radii, radial
        sizes = np.sqrt((along**2).sum(axis=0) + radial**2)
        one = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > ROUNDING)
        if self.name == "ngpt":
            return self.alpha * one * along, 0.0 * radial
        return one * along / radii, one * radial

    def constrain(self, tokens: FloatArray) -> FloatArray:
        """Return ``tokens`` (n, d) after a step: those of nGPT on the sphere again."""
        return split_tokens(tokens)[1] if self.name == "ngpt" else tokens

    def ends_between(
        self, start: FloatArray, before: FloatArray, after: FloatArray
    ) -> bool:
        """Whether a token is at the origin ``after`` a step, or went through it."""
        shortest = SHORTEST_RADIUS * split_tokens(start)[0].min()
        is_there = split_tokens(after)[0].min() < shortest
        return bool(is_there or (before * after).sum(axis=1).min() <= 0)

    def move_tokens(self, tokens: FloatArray, updates: FloatArray) -> FloatArray:
        """Return the motion x' = R v + R' theta of ``tokens`` (n, d) under m (n, d)."""
        radii, directions = split_tokens(tokens)
        radial = (updates * directions).sum(axis=1)
        along = updates.T - radial * directions.T
        velocity, growth = self.find_motion(along, radial, radii)
        return np.asarray((radii * velocity + growth * directions.T).T)


def split_tokens(tokens: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return R (n,) and theta (n, d) of ``tokens`` (n, d)."""
    radii = np.linalg.norm(tokens, axis=1)
    return radii, tokens / radii[:, np.newaxis]
