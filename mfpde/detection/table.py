"""A report in words: one sentence, and a table of the numbers behind it with its legend."""

from __future__ import annotations

import numpy as np

from mfpde.detection.flow import ROUNDING
from mfpde.detection.graph import Place
from mfpde.detection.region import KINDS, ConcentratedRegion, angle_of
from mfpde.detection.report import ALL_FROZEN, LIGHT, ConcentrationReport

MOST_ROWS = 12
MOST_JUMPS = 6
UNIT = 1e-6
"""A total mass this close to 1 is printed as 1."""
POSITIONS: dict[Place, str] = {
    "circle": f"{'angle/pi':>9}",
    "sphere": f"{'x':>9} {'y':>9} {'z':>9}",
    "zonal": f"{'theta/pi':>9}",
}
LEGEND = """\
in basin: mass that flows there; in core: what is there already; width/h: its rms width in cells;
exponents: how the mass within 1, 2, 4, 8 cells grows (0: an atom; as many as dimensions: a
density); shrinks, grows: rates [1/time] of lengths and of the density there; rough: share by which
cells differ from their neighbours; holds: the weakest outside force that moves it off its cell"""


def sentence(report: ConcentrationReport) -> str:
    """The finding of a report in one sentence."""
    total = report.total_mass
    if report.resting_mass >= (1 - ROUNDING) * total:
        return "at rest: the velocity vanishes everywhere"
    counts = {kind: len(report.of_kinds(kind)) for kind in KINDS}
    parts = [_counted(counts["atom"], "atom"), f"{counts['forming']} forming"]
    parts += [_counted(counts["curve"], "curve")] if counts["curve"] else []
    parts += [f"{counts[kind]} {kind}" for kind in KINDS[3:] if counts[kind]]
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
    return text + _frozen_in_words(report) + _jumps_in_words(report)


def _frozen_in_words(report: ConcentrationReport) -> str:
    total = report.total_mass
    if report.frozen_mass <= ROUNDING * total:
        return ""
    is_all = report.frozen_mass >= ALL_FROZEN * total
    why = " (nothing moves a cell in 1000 units of time)" if is_all else ""
    return f"; {report.frozen_mass:.6f} frozen{why}"


def _jumps_in_words(report: ConcentrationReport) -> str:
    if not len(report.jumps):
        return ""
    if report.place == "sphere":
        return f"; the density jumps along {report.jump_length:.3f} radians"
    return f"; the density jumps at {_counted(len(report.jumps), 'place')}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def table(report: ConcentrationReport) -> str:
    """The verdict, the numbers of every concentrated region, and those of the whole."""
    lines = [f"verdict: {report.verdict}; {sentence(report)}"]
    listed = report.of_kinds("atom", "forming", "curve", "unresolved", "jump")
    if listed:
        lines.append(
            f"{'kind':>10} {POSITIONS[report.place]} {'in basin':>9} {'in core':>9} "
            f"{'width/h':>11} {'exponents':>14} {'shrinks':>10} {'grows':>10} {'rough':>7} "
            f"{'holds':>9}"
        )
        lines += [_row(region, report.place) for region in listed[:MOST_ROWS]]
        if len(listed) > MOST_ROWS:
            lines.append(f"{'':>10} and {len(listed) - MOST_ROWS} more")
        lines += LEGEND.splitlines()
    lines += [_curve_in_words(region) for region in report.curves[:MOST_ROWS]]
    return "\n".join(lines + _of_the_whole(report))


def _row(region: ConcentratedRegion, place: Place) -> str:
    widths = " ".join(f"{width:.2f}" for width in region.widths_in_cells)
    exponents = " ".join(f"{max(e, 0.0):.2f}" for e in region.exponents[:3])
    holds = "exact" if region.is_exact else "-"
    if region.pinning_force is not None:
        holds = f"{region.pinning_force:.2e}"
    return (
        f"{region.kind:>10} {_position(region, place)} {region.mass:9.6f} "
        f"{region.core_mass:9.6f} {widths:>11} {exponents:>14} "
        f"{region.contraction_rate:10.3e} {region.growth_rate:10.3e} "
        f"{region.roughness:7.3f} {holds:>9}"
    )


def _curve_in_words(region: ConcentratedRegion) -> str:
    """Mass, axis, polar angle, latitude and length of a curve or ring."""
    curve = region.curve
    assert curve is not None
    axis = (
        ", ".join(f"{x:.4f}" for x in curve.axis) if len(curve.axis) < 4 else "the last"
    )
    angles = f"{curve.polar_angle / np.pi:.5f} pi from the axis ({axis})"
    text = f"curve of mass {region.mass:.6f}: {angles}, latitude {region.latitude:.5f}"
    return text if np.isnan(curve.length) else f"{text}, {curve.length:.4f} long"


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
        lines.append(f"largest mass in a ball: {values}; exponents {exponents}")
    if 0 < len(report.jumps) <= MOST_JUMPS and report.place != "sphere":
        places = ", ".join(f"{angle_of(point) / np.pi:.5f}" for point in report.jumps)
        lines.append(f"jumps at angle/pi = {places}")
    return lines


def _position(region: ConcentratedRegion, place: Place) -> str:
    if place != "sphere":
        return f"{region.angle / np.pi:9.5f}"
    # Adding zero turns a rounded -0.0 into 0.0.
    return " ".join(f"{round(float(x), 5) + 0.0:9.5f}" for x in region.position)


def place_and_mass(region: ConcentratedRegion, place: Place) -> str:
    """Say where a region is and what it holds, in one line."""
    return (
        f"mass {region.arrived_mass:.6f}, {region.arriving_mass:.6f} on its way, at "
        f"{POSITIONS[place].strip()} = {_position(region, place).strip()}"
    )
