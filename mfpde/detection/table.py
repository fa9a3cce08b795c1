"""A report in words: one sentence, and a table of the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.detection.decision import KINDS
from mfpde.detection.report import (
    ALL_FROZEN,
    LIGHT,
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    Place,
    angle_of,
)

MOST_ROWS = 12
MOST_JUMPS = 6
UNIT = 1e-6
"""A total mass this close to 1 is printed as 1."""


def sentence(report: ConcentrationReport) -> str:
    """The finding of a report in one sentence."""
    total = report.total_mass
    if report.resting_mass >= (1 - REST) * total:
        return "at rest: the velocity vanishes everywhere"
    parts = [_counted(len(report.of_kinds("atom")), "atom")]
    parts.append(f"{len(report.of_kinds('forming'))} forming")
    parts += _others(report)
    text = f"{', '.join(parts)} (basins of the velocity field)"
    if report.clusters:
        text += (
            f"; mass {report.arrived_mass:.6f} in atoms, {report.arriving_mass:.6f} on "
            "its way"
        )
    second = sum(region.second_peak for region in report.clusters)
    if second > LIGHT * total:
        text += f", {second:.6f} of it at second peaks"
    if report.curves:
        text += f"; {sum(curve.mass for curve in report.curves):.6f} on curves"
    if report.frozen_mass > REST * total:
        text += f"; {report.frozen_mass:.6f} frozen"
        if report.frozen_mass >= ALL_FROZEN * total:
            text += " (nothing moves a cell in 1000 units of time)"
    return text + _jumps_in_words(report)


def _others(report: ConcentrationReport) -> list[str]:
    counts = [(kind, len(report.of_kinds(kind))) for kind in KINDS[2:]]
    return [
        _counted(count, "curve") if kind == "curve" else f"{count} {kind}"
        for kind, count in counts
        if count
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _jumps_in_words(report: ConcentrationReport) -> str:
    if not len(report.jumps):
        return ""
    if report.place == "sphere":
        return f"; the density jumps along {report.jump_length:.3f} radians"
    return f"; the density jumps at {_counted(len(report.jumps), 'place')}"


def table(report: ConcentrationReport) -> str:
    """The verdict, the numbers of every concentrated region, and those of the whole."""
    lines = [f"verdict: {report.verdict}; {sentence(report)}"]
    listed = report.of_kinds("atom", "forming", "curve", "unresolved", "jump")
    if listed:
        title, _ = _POSITIONS[report.place]
        lines.append(
            f"{'kind':>10} {title} {'in basin':>9} {'in core':>9} {'width/h':>11} "
            f"{'exponents':>14} {'contracts':>10} {'grows':>10} {'coarse':>7} {'pins':>9}"
        )
        lines += [_row(region, report.place) for region in listed[:MOST_ROWS]]
        if len(listed) > MOST_ROWS:
            lines.append(f"{'':>10} and {len(listed) - MOST_ROWS} more")
    lines += _of_the_whole(report)
    return "\n".join(lines)


def _row(region: ConcentratedRegion, place: Place) -> str:
    widths = " ".join(f"{width:.2f}" for width in region.widths_in_cells)
    exponents = " ".join(f"{max(e, 0.0):.2f}" for e in region.exponents[:3])
    pins = "exact" if region.is_exact else "-"
    if region.pinning_force is not None:
        pins = f"{region.pinning_force:.2e}"
    return (
        f"{region.kind:>10} {_POSITIONS[place][1](region)} {region.mass:9.6f} "
        f"{region.core_mass:9.6f} {widths:>11} {exponents:>14} "
        f"{region.contraction_rate:10.3e} {region.growth_rate:10.3e} "
        f"{region.coarse_difference:7.3f} {pins:>9}"
    )


def _of_the_whole(report: ConcentrationReport) -> list[str]:
    lines = []
    if abs(report.total_mass - 1) > UNIT:
        lines.append(f"all masses are parts of {report.total_mass:.9g}, not of 1")
    if len(report.radii):
        cells = np.rint(report.radii / report.spacing).astype(int)
        values = ", ".join(
            f"{q:.4f} ({n}h)"
            for q, n in zip(report.largest_ball_masses, cells, strict=True)
        )
        exponents = ", ".join(f"{max(e, 0.0):.2f}" for e in report.exponents)
        lines.append(f"Q(r) = {values}; exponents {exponents}")
    if report.strip.width is not None:
        lines.append(f"strip of analyticity {report.strip}")
    if 0 < len(report.jumps) <= MOST_JUMPS and report.place != "sphere":
        places = ", ".join(f"{angle_of(point) / np.pi:.5f}" for point in report.jumps)
        lines.append(f"jumps at angle/pi = {places}")
    if report.coarse_basins is not None and report.regions:
        lines.append(
            f"{_counted(len(report.regions), 'basin')}; {report.coarse_basins} on the 2:1 "
            "coarsened density"
        )
    return lines


def _coordinates(region: ConcentratedRegion) -> str:
    # Adding zero turns a rounded -0.0 into 0.0.
    return " ".join(f"{round(float(x), 5) + 0.0:9.5f}" for x in region.position)


def place_and_mass(region: ConcentratedRegion, place: Place) -> str:
    """Say where a region is and what it holds, in one line."""
    title, position = _POSITIONS[place]
    return (
        f"mass {region.arrived_mass:.6f}, {region.arriving_mass:.6f} on its way, at "
        f"{title.strip()} = {position(region).strip()}"
    )


def _angle(region: ConcentratedRegion) -> str:
    return f"{region.angle / np.pi:9.5f}"


_POSITIONS: dict[Place, tuple[str, Callable[[ConcentratedRegion], str]]] = {
    "circle": (f"{'angle/pi':>9}", _angle),
    "sphere": (f"{'x':>9} {'y':>9} {'z':>9}", _coordinates),
    "zonal": (f"{'theta/pi':>9}", _angle),
}
