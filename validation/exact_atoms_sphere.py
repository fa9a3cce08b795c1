r"""Exact atoms on the sphere: pairs of bumps that merge, an atom at a pole, a ring, rings.

``merging``: two bumps that attract each other (``references.two_bumps``): the times at
which the angle between the two atoms falls below .5, .3 and .1, in several orientations,
straight over a pole among them.  Neither atom may be released, although the tide of the
heavier one stretches the lighter one, and the energy may not fall.

``forming``: an atom that forms at a pole, beside it, and elsewhere.  All mass goes to the
top b of the potential V = b.x / 2.

``opening``: an atom that must open into a ring (``references.ring``).

``rings``: mass on a ring is no atom.  In descent none may form; in ascent the ring
contracts and becomes one atom at its centre.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import mfpde
from mfpde.measures.weighted_points import as_atoms
from validation.references import ring, two_bumps

Array = NDArray[np.float64]

SHOWN_SAVES = 60
NEAR_SAVES = 31
# Of the exact time: saves stand close together there.
NEAR_SHARE = 0.012
TILTED = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
POLE = np.array([0.0, 0.0, 1.0])
RING_ANGLES = (0.1, 0.2, 0.35, 0.5)


# --- two bumps --------------------------------------------------------------------------


def orientations(distance: float) -> dict[str, Array]:
    """Turns of a pair that lies on the equator, symmetric to the first axis."""
    to_pole = Rotation.from_euler("y", -np.pi / 2)
    return {
        "equator": np.eye(3),
        "oblique": Rotation.from_euler("xyz", [0.4, 0.9, 0.3]).as_matrix(),
        "over the pole": to_pole.as_matrix(),
        "beside the pole": (
            Rotation.from_euler("yz", [0.05, 0.7]) * to_pole
        ).as_matrix(),
        "one at the pole": (
            Rotation.from_euler("x", -distance / 2) * to_pole
        ).as_matrix(),
    }


def separation(measure: mfpde.Measure) -> float:
    """Angle between two atoms; nan while there are none, 0 once they are one."""
    points = measure.atoms.points
    if len(points) == 2:
        return two_bumps.angle_between(points[0], points[1])
    return 0.0 if len(points) == 1 else np.nan


def merging(
    name: str, nlat: int, rotation: Array, *, times: Array
) -> tuple[Array, mfpde.Run]:
    """Relative errors of the times at which the separation passes the thresholds.

    Parameters
    ----------
    name
        Of a case in ``two_bumps.CASES``.
    nlat
        Rings of the grid.
    rotation
        Turns the bumps.
    times
        Exact times.
    """
    case = two_bumps.CASES[name]
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(case.beta, normalized=case.softmax), direction="ascent"
    )
    start = mfpde.Density.from_function(
        mfpde.Sphere(nlat), two_bumps.start_density(case, rotation)
    )
    near = np.linspace(1 - NEAR_SHARE, 1 + NEAR_SHARE, NEAR_SAVES)
    end = times[-1] * near[-1]
    saves = np.union1d(np.outer(times, near).ravel(), np.linspace(0, end, SHOWN_SAVES))
    run = mfpde.solve(
        equation,
        start,
        t_end=end,
        save_at=saves[saves <= end],
        atoms="exact",
        observe={"separation": separation},
    )
    apart = run.diagnostics["separation"]
    # Of one atom alone, before the other has formed, the separation says nothing.
    known = np.isfinite(apart) & (np.cumsum(apart > 0) > 0)
    passed = np.interp(-np.array(two_bumps.THRESHOLDS), -apart[known], run.times[known])
    return passed / times - 1, run


def merging_pairs(
    names: list[str], sizes: tuple[int, ...], turns: int | None
) -> dict[str, float]:
    """Largest error, number of releases and largest fall of the energy over all runs."""
    found = {"merging": 0.0, "released": 0.0, "merging_energy_fall": 0.0}
    for name in names:
        case = two_bumps.CASES[name]
        times = two_bumps.separation_times(case)
        for nlat in sizes:
            for turn, rotation in list(orientations(case.distance).items())[:turns]:
                errors, run = merging(name, nlat, rotation, times=times)
                kinds = [event.kind for event in run.events]
                fall = max(0.0, -float(np.diff(run.energies).min()))
                shown = " ".join(f"{100 * error:+.3f} %" for error in errors)
                print(
                    f"{name}, {nlat} rings, {turn}: {shown}; {_counted(kinds)}; energy "
                    f"falls by {fall:.1e}; {_cost(run)}",
                    flush=True,
                )
                found["merging"] = max(found["merging"], float(np.abs(errors).max()))
                found["released"] += kinds.count("fission")
                found["merging_energy_fall"] = max(found["merging_energy_fall"], fall)
    return found


def _counted(kinds: list[str]) -> str:
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))


def _cost(run: mfpde.Run) -> str:
    return f"{run.statistics['steps']} steps, {run.statistics['wall_seconds']:.1f} s"


# --- one atom ---------------------------------------------------------------------------


def forming(nlat: int = 64, t_end: float = 60.0) -> dict[str, float]:
    """Largest distance, in cells, between the atom that forms and the top of V."""
    sphere = mfpde.Sphere(nlat)
    away = {f"{cells} h": cells * sphere.spacing for cells in (0.0, 0.3, 1.0, 2.3)}
    worst = 0.0
    for name, angle in {**away, "middle": 0.8, "equator": np.pi / 2}.items():
        top = Rotation.from_euler("z", 0.4).apply([np.sin(angle), 0.0, np.cos(angle)])
        for start_name, start in {
            "uniform": mfpde.uniform(sphere),
            "bump": mfpde.Density.from_function(
                sphere, lambda x, b=top: np.exp(2 * x @ _beside(b))
            ),
        }.items():
            run = mfpde.solve(
                _towards(top), start, t_end=t_end, save_at=[t_end], atoms="exact"
            )
            atoms = run.final.atoms
            largest = int(np.argmax(atoms.masses)) if len(atoms) else -1
            off = (
                two_bumps.angle_between(atoms.points[largest], top) / sphere.spacing
                if len(atoms)
                else np.inf
            )
            print(
                f"top {name} from the pole, from {start_name}: {len(atoms)} atoms, mass "
                f"{atoms.masses.max(initial=0.0):.6f}, off by {off:.2e} h; "
                f"{_counted([event.kind for event in run.events])}; {_cost(run)}",
                flush=True,
            )
            worst = max(worst, off)
    return {"forming_cells": worst}


def _beside(point: Array) -> Array:
    """A unit vector at the angle 0.5 from ``point``."""
    return Rotation.from_rotvec(0.5 * _across(point)).apply(point)


def _across(point: Array) -> Array:
    normal = np.cross(point, np.roll(np.eye(3)[np.argmax(np.abs(point))], 1))
    return np.asarray(normal / np.linalg.norm(normal))


def _towards(top: Array) -> mfpde.MeanFieldEquation:
    potential = mfpde.Potential(
        lambda x: 0.5 * x @ top,
        lambda x: 0.5 * (top - (x @ top)[..., np.newaxis] * x),
    )
    return mfpde.MeanFieldEquation(mfpde.Attention(8.0), potential, direction="ascent")


def opening(nlat: int = 64, axis: Array = TILTED) -> dict[str, float]:
    """Errors of the rms radius of an atom that opens into a ring, in transit and at the end."""
    sphere = mfpde.Sphere(nlat)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(ring.BETA),
        mfpde.Perceptron([axis], [ring.WEIGHT]),
        direction="descent",
    )
    width = ring.WIDTH**2 * (np.eye(3) - np.outer(axis, axis))
    start = mfpde.Measure(
        mfpde.Density(sphere, np.zeros(sphere.shape)),
        mfpde.Atoms([axis], [1.0], [width]),
    )
    times = np.array(ring.TIMES)
    run = mfpde.solve(
        equation,
        start,
        t_end=times[-1],
        save_at=times,
        atoms="exact",
        observe={"radius": _radius_about(axis)},
    )
    radii = run.diagnostics["radius"]
    errors = radii / ring.rms_radii(*ring.opening()) - 1
    end = radii[-1] / ring.ring_angle(ring.BETA, ring.WEIGHT) - 1
    shown = " ".join(
        f"{t:g}: {100 * e:+.2f} %" for t, e in zip(times, errors, strict=True)
    )
    print(f"opening, {nlat} rings: {shown}; end {100 * end:+.2f} %")
    print("  " + "; ".join(str(event) for event in run.events) + f"; {_cost(run)}")
    return {
        "opening_releases": float(len(run.events)),
        "opening_transit": float(np.abs(errors).max()),
        "opening_end": abs(float(end)),
        "opening_energy_rise": max(0.0, float(np.diff(run.energies).max())),
    }


def _radius_about(axis: Array) -> Callable[[mfpde.Measure], float]:
    def radius(measure: mfpde.Measure) -> float:
        atoms = measure.atoms.as_clouds()
        held = as_atoms(mfpde.Measure(measure.density, atoms))
        angles = np.arccos(np.clip(held.points @ axis, -1, 1))
        return float(np.sqrt(held.masses @ angles**2))

    return radius


# --- rings ------------------------------------------------------------------------------


def ring_runs(
    nlat: int = 96, angles: tuple[float, ...] = RING_ANGLES
) -> dict[str, float]:
    """Number of false atoms: any in descent, any but one at the centre in ascent."""
    sphere = mfpde.Sphere(nlat)
    false_atoms, collapsed = 0, 0
    for axis_name, axis in {"pole": POLE, "tilted": TILTED}.items():
        for beta, t_end in ((8.0, 30.0), (50.0, 120.0)):
            for direction in ("ascent", "descent"):
                for angle in angles:
                    run = _ring_run(sphere, axis, angle, beta, direction, t_end)
                    births = [e for e in run.events if e.kind == "birth"]
                    off = [
                        two_bumps.angle_between(e.points[0], axis) / sphere.spacing
                        for e in births
                    ]
                    allowed = 1 if direction == "ascent" else 0
                    wrong = max(len(births) - allowed, 0)
                    wrong += sum(distance > 1.0 for distance in off[:allowed])
                    false_atoms += wrong
                    collapsed += bool(births) and direction == "ascent"
                    print(
                        f"ring {angle} about the {axis_name} axis, beta {beta:g}, "
                        f"{direction}: births {[f'{d:.3f} h off' for d in off]}, then "
                        f"{_counted([e.kind for e in run.events])}; {_cost(run)}"
                        + ("  <-- FALSE" if wrong else ""),
                        flush=True,
                    )
    return {"false_atoms": float(false_atoms), "collapsed_rings": float(collapsed)}


def _ring_run(
    sphere: mfpde.Sphere,
    axis: Array,
    angle: float,
    beta: float,
    direction: str,
    t_end: float,
) -> mfpde.Run:
    def density(points: Array) -> Array:
        away = (np.arccos(np.clip(points @ axis, -1, 1)) - angle) / sphere.spacing
        return np.exp(-0.5 * away**2)

    start = mfpde.Density.from_function(sphere, density)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction=direction)
    return mfpde.solve(equation, start, t_end=t_end, save_at=[t_end], atoms="exact")


# ----------------------------------------------------------------------------------------


def main(quick: bool = False) -> dict[str, float]:
    names = list(two_bumps.CASES)
    if quick:
        found = merging_pairs(["tidal", "equal softmax"], (64,), 3)
        return {**found, **opening(), **ring_runs(64, (0.2,))}
    found = merging_pairs(names, (64, 96, 128), None)
    return {**found, **forming(), **opening(), **ring_runs()}


if __name__ == "__main__":
    print(main(quick="quick" in sys.argv))
