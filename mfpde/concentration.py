r"""Where a measure on the circle concentrates: basins of the velocity field and their cores.

A basin lies between two unstable zeros of the velocity (v changes from - to +): what is
in it flows together.  Basins, not density minima or a distance threshold, decide what
belongs to one atom: minima of a density are rounding ripples in its tails, and a
threshold c/sqrt(beta) finds sqrt(beta) clusters even in the uniform state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.circle_distribution import CircularDistribution, on_circle
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import points_at, tangents_at
from mfpde.measure import AnyMeasure, Atoms, as_measure

PROBES = 4096
NARROW = 1.2
"""An atom's rms radius, in cells, is at most this."""
PEAKED = 0.4
"""A core is a peak if its rms radius is below this share of the core radius.

Mass spread evenly over the core has 0.577 of it.
"""
_REST = 1e-12
_CORE_STEPS = 20


@dataclass(frozen=True, eq=False)
class ConcentratedRegion:
    """A basin of the velocity field and the core of what it holds.

    Attributes
    ----------
    position, angle
        Mean of the core: a unit vector (2,), and its angle in radians.
    mass, core_mass
        Mass of the basin, and of the core: the part within ``core_radius`` of its mean.
    radius, radius_in_cells
        Root mean square distance of the core from its mean, in radians and in cells
        (NaN for atoms without a grid).
    contraction_rate
        Rate at which lengths shrink at the mean, own mass included: minus the slope of
        the velocity there (minus the eigenvalue of s Hess F for a gradient drift).
        Negative: mass there spreads.
    basin
        Angles (from, to) of the unstable zeros around it, to > from.
    kind
        ``"atom"`` (contracting, at most 1.2 cells wide), ``"forming"`` (contracting and
        a clear peak within the core) or ``"spread"``.
    """

    position: FloatArray
    angle: float
    mass: float
    core_mass: float
    radius: float
    radius_in_cells: float
    contraction_rate: float
    basin: tuple[float, float]
    kind: str


@dataclass(frozen=True, eq=False)
class ConcentrationReport:
    """What :func:`concentration` found: all basins, and among them the atoms.

    Attributes
    ----------
    regions
        One for each basin, by angle.
    atoms
        The regions of kind ``"atom"`` or ``"forming"``, heaviest first.
    core_radius
        Radius of a core, min(1/(2 sqrt beta), pi/4), in radians.
    verdict
        The finding in one sentence.
    """

    regions: tuple[ConcentratedRegion, ...]
    atoms: tuple[ConcentratedRegion, ...]
    core_radius: float
    verdict: str

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.atoms:
            lines.append(
                f"{'kind':>8} {'angle/pi':>9} {'mass':>9} {'in core':>9} "
                f"{'rms radius':>11} {'in cells':>9} {'contraction':>12}"
            )
        lines += [
            f"{a.kind:>8} {a.angle / np.pi:9.5f} {a.mass:9.6f} {a.core_mass:9.6f} "
            f"{a.radius:11.3e} {a.radius_in_cells:9.2f} {a.contraction_rate:12.4e}"
            for a in self.atoms
        ]
        return "\n".join(lines)


def concentration(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins of the velocity field and the cores in them.

    Parameters
    ----------
    measure
        A density on a Circle, atoms with d = 2, or both.
    equation
        The equation whose velocity decides.

    Returns
    -------
    ConcentrationReport
        Basins, atoms (position, mass, rms radius, contraction rate) and a verdict.

    Raises
    ------
    ValueError
        If the measure does not live on a circle.
    """
    if not on_circle(measure):
        raise ValueError(
            f"measure of dimension {measure.dimension} must lie on a Circle"
        )
    betas = [attention.beta for attention in equation.attentions]
    beta = max(betas, default=0.0)
    core_radius = min(0.5 / np.sqrt(beta), np.pi / 4) if beta > 0 else np.pi / 4
    spacing = (
        np.nan if isinstance(measure, Atoms) else as_measure(measure).geometry.spacing
    )
    field = _VelocityField(equation, measure)
    distribution = CircularDistribution.of(measure).normalized()
    regions = tuple(
        _region(field, distribution, basin, core_radius=core_radius, spacing=spacing)
        for basin in field.basins()
        if _basin_mass(distribution, basin) > _REST
    )
    atoms = tuple(
        sorted((r for r in regions if r.kind != "spread"), key=lambda r: -r.mass)
    )
    return ConcentrationReport(
        regions, atoms, core_radius, _verdict(field, regions, atoms)
    )


class _VelocityField:
    """Velocity along the circle, by angle, for a fixed measure."""

    def __init__(self, equation: MeanFieldEquation, measure: AnyMeasure) -> None:
        self.equation = equation
        self.measure = measure
        if isinstance(measure, Atoms):
            self.probes = Circle(PROBES).angles
        else:
            geometry = as_measure(measure).geometry
            assert isinstance(geometry, Circle)
            self.probes = geometry.angles
        self.values = self.at(self.probes)
        scale = np.abs(self.values).max()
        self.is_at_rest = bool(scale <= _REST)
        # Rounding has no direction.
        self.signs = np.where(
            np.abs(self.values) <= _REST * max(scale, 1.0), 0, np.sign(self.values)
        )

    def at(self, angles: FloatArray) -> FloatArray:
        """Velocity (counter-clockwise) at ``angles`` (n,)."""
        vectors = self.equation.velocity(self.measure, points_at(angles))
        return np.asarray(np.einsum("...i,...i->...", vectors, tangents_at(angles)))

    def basins(self) -> list[tuple[float, float]]:
        """Intervals (from, to) between neighbouring unstable zeros."""
        moving = np.nonzero(self.signs)[0]
        if len(moving) == 0:
            return []
        following = np.roll(moving, -1)
        leaves = (self.signs[moving] < 0) & (self.signs[following] > 0)
        zeros = np.sort(
            [
                self._zero(int(i), int(j))
                for i, j in zip(moving[leaves], following[leaves], strict=True)
            ]
        )
        if len(zeros) == 0:
            return []
        return list(zip(zeros, np.append(zeros[1:], zeros[0] + 2 * np.pi), strict=True))

    def _zero(self, before: int, after: int) -> float:
        """Interpolated zero between the probes ``before`` and ``after``."""
        low = self.probes[before]
        high = self.probes[after] + (2 * np.pi if after <= before else 0.0)
        if after == (before + 1) % len(self.probes):
            v_low, v_high = self.values[before], self.values[after]
            return float(low - v_low * (high - low) / (v_high - v_low))
        # A stretch at rest between the two: cut it in the middle.
        return float((low + high) / 2)


def _basin_mass(
    distribution: CircularDistribution, basin: tuple[float, float]
) -> float:
    cumulated = distribution.cdf(np.array(basin))
    return float(cumulated[1] - cumulated[0])


def _region(
    field: _VelocityField,
    distribution: CircularDistribution,
    basin: tuple[float, float],
    *,
    core_radius: float,
    spacing: float,
) -> ConcentratedRegion:
    mass = _basin_mass(distribution, basin)
    angle = _densest(distribution, basin, core_radius)
    core_mass, variance = 0.0, 0.0
    for _ in range(_CORE_STEPS):
        low = max(angle - core_radius, basin[0])
        high = min(angle + core_radius, basin[1])
        core_mass, mean, variance = _moments_between(distribution, low, high)
        if abs(mean - angle) < 1e-12:
            break
        angle = mean
    reach = 0.7 * spacing if np.isfinite(spacing) else 1e-3
    speeds = field.at(np.array([angle - reach, angle + reach]))
    rate = -float(speeds[1] - speeds[0]) / (2 * reach)
    radius = float(np.sqrt(max(variance, 0.0)))
    return ConcentratedRegion(
        position=points_at(np.array(angle)),
        angle=float(np.mod(angle, 2 * np.pi)),
        mass=mass,
        core_mass=core_mass,
        radius=radius,
        radius_in_cells=radius / spacing,
        contraction_rate=rate,
        basin=(float(basin[0]), float(basin[1])),
        kind=_kind(radius, rate, spacing=spacing, core_radius=core_radius),
    )


def _kind(radius: float, rate: float, *, spacing: float, core_radius: float) -> str:
    if rate <= 0 or radius > PEAKED * core_radius:
        return "spread"
    narrow = NARROW * spacing if np.isfinite(spacing) else 1e-3
    return "atom" if radius <= narrow else "forming"


def _densest(
    distribution: CircularDistribution, basin: tuple[float, float], radius: float
) -> float:
    """Centre of a ball within the basin that holds the most of its mass."""
    centres = np.linspace(basin[0], basin[1], 513)
    low = np.maximum(centres - radius, basin[0])
    high = np.minimum(centres + radius, basin[1])
    return float(centres[np.argmax(distribution.cdf(high) - distribution.cdf(low))])


def _moments_between(
    distribution: CircularDistribution, low: float, high: float
) -> tuple[float, float, float]:
    """Mass, mean and variance of the mass in [low, high], by integrating the cdf exactly."""
    angles, levels = distribution.graph
    turns = np.arange(np.floor(low / (2 * np.pi)), np.floor(high / (2 * np.pi)) + 1)
    nodes = (angles + 2 * np.pi * turns[:, np.newaxis]).ravel()
    heights = (levels + distribution.total_mass * turns[:, np.newaxis]).ravel()
    inside = (nodes > low) & (nodes < high)
    x = np.concatenate([[low], nodes[inside], [high]])
    ends = distribution.cdf(np.array([low, high]))
    f = np.concatenate([[ends[0]], heights[inside], [ends[1]]])
    masses = np.diff(f)
    total = float(masses.sum())
    if total <= 0:
        return 0.0, (low + high) / 2, 0.0
    centre = (x[1:] + x[:-1]) / 2
    mean = float((masses * centre).sum() / total)
    spread = (centre - mean) ** 2 + np.diff(x) ** 2 / 12
    return total, mean, float((masses * spread).sum() / total)


def _verdict(
    field: _VelocityField,
    regions: tuple[ConcentratedRegion, ...],
    atoms: tuple[ConcentratedRegion, ...],
) -> str:
    if field.is_at_rest:
        return "at rest: the velocity vanishes everywhere"
    counts = {
        kind: sum(r.kind == kind for r in regions)
        for kind in ("atom", "forming", "spread")
    }
    held = sum(atom.mass for atom in atoms)
    return (
        f"{counts['atom']} atoms, {counts['forming']} forming, {counts['spread']} spread "
        f"(basins of the velocity field); mass {held:.6f} in atoms and forming regions"
    )
