"""Cost of a complete step on the sphere, in bare spherical-harmonic transforms.

Prints, for two grids, the time of one step of the default scheme (velocity, outflows,
stages, error estimate and step rule), that of one full-degree shtns analysis and
synthesis, and their ratio: medians in turns, both on one thread.  The targets are those of the two
stages of Heun's method; SSPRK(4,2) has four, and steps three times as long.

    python benchmarks/sphere_step.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results_table import in_turns

from mfpde import Attention, Density, MeanFieldEquation, Perceptron, Sphere
from mfpde.geometry.spherical_transform import planned_transform
from mfpde.transport import State, scheme_for

GRIDS = ((128, 256, 5.0), (256, 512, 3.5))
REPETITIONS = 61


def equation() -> MeanFieldEquation:
    """Return the paper's perceptron on S^2 (seed 111) with beta = 8."""
    return MeanFieldEquation(
        Attention(8.0), Perceptron.random(3, 3, seed=111), direction="ascent"
    )


def bare_pair(sphere: Sphere) -> Callable[[], object]:
    """Return one full-degree analysis and synthesis."""
    values = np.random.default_rng(0).random(sphere.shape)
    plan = planned_transform(sphere.nlat, sphere.nlon, sphere.max_degree, 0)
    coefficients = plan.analys(values)

    def work() -> object:
        plan.spat_to_SH(values, coefficients)
        plan.SH_to_spat(coefficients, values)
        return values

    return work


def complete_step(sphere: Sphere, transport_name: str) -> Callable[[], object]:
    """Return one step of the solver, with its step rule and error estimate."""
    scheme = scheme_for(transport_name, sphere)
    transport = scheme.transport(equation().on(sphere))
    start = Density.from_function(sphere, lambda x: np.exp(x[..., 0] + x[..., 1] ** 2))
    none = np.empty((0, 3)), np.empty(0)
    state = State(transport.represented(start.masses), *none)
    now = [state]

    def work() -> object:
        state = now[0]
        now[0] = transport.step(state, transport.largest_step(state)).state
        return now[0]

    return work


def main() -> None:
    """Print the table."""
    print(f"{'grid':>9} {'scheme':>14} {'step/ms':>8} {'pair/ms':>8} {'ratio':>6}")
    for nlat, nlon, target in GRIDS:
        sphere = Sphere(nlat, nlon)
        for name in ("donor_blended",):
            works = bare_pair(sphere), complete_step(sphere, name)
            pair, step = (taken.median for taken in in_turns(works, REPETITIONS))
            print(
                f"{nlat:>4}x{nlon:<4} {name:>14} {step * 1e3:8.3f} {pair * 1e3:8.3f} "
                f"{step / pair:6.2f}   (target {target})"
            )


if __name__ == "__main__":
    main()
