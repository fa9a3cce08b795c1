"""Cost of a step with one general head of attention, in steps with isotropic attention.

Prints, for the sphere of 128 x 256 cells and the circle of 1024, the time of a complete step
of the default scheme with matrices D and V that have nothing to do with each other, and its
ratio to the step with D = V = I at the same beta |D|: medians over repetitions, in turns, on
one thread.  Then the price of sums over the masses where a softmax's normalisation is small: a
step with D = -I of a bump, which has nothing but small ones, of steps of a broad density.

    python benchmarks/head_step.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results_table import in_turns
from sphere_step import REPETITIONS

from mfpde import Attention, Circle, Density, MeanFieldEquation, Sphere
from mfpde.geometry import Geometry
from mfpde.transport import State, scheme_for

BETAS = (1.0, 5.0, 10.0)
GRIDS = (Circle(1024), Sphere(128))


def complete_step(
    attention: Attention, geometry: Geometry, concentration: float = 1.0
) -> Callable[[], object]:
    """Return one donor-blended step from a density e^(concentration x_0)."""
    equation = MeanFieldEquation(attention, direction="ascent")
    scheme = scheme_for("donor_blended", geometry)
    transport = scheme.transport(equation.on(geometry))
    density = Density.from_function(
        geometry, lambda x: np.exp(concentration * (x[..., 0] - 1))
    ).normalized()
    none = np.empty((0, geometry.dimension)), np.empty(0)
    state = State(transport.represented(density.masses), *none)
    length = transport.largest_step(state)
    return lambda: transport.step(state, length)


def main() -> None:
    """Print a row for each grid, beta, and kind of normalisation."""
    generator = np.random.default_rng(0)
    print("grid              beta  softmax  isotropic      head  ratio")
    for geometry in GRIDS:
        d = geometry.dimension
        bilinear, value = generator.standard_normal((2, d, d))
        bilinear /= np.linalg.norm(bilinear, 2)
        for beta in BETAS:
            for softmax in (False, True):
                plain = Attention(beta, softmax)
                head = Attention(beta, softmax, bilinear=bilinear, value=value)
                works = [complete_step(term, geometry) for term in (plain, head)]
                taken = in_turns(works, REPETITIONS)
                isotropic, general = (one.median for one in taken)
                print(
                    f"{geometry!s:17.17} {beta:4g}  {softmax!s:7}  {1e3 * isotropic:6.2f} ms "
                    f"{1e3 * general:6.2f} ms  {general / isotropic:5.2f}"
                )
    print("\ngrid              beta      broad       bump  ratio  (softmax, D = -I)")
    for geometry in (Circle(512), Circle(1024), Sphere(64)):
        opposite = -np.eye(geometry.dimension)
        head = Attention(20.0, normalized=True, bilinear=opposite)
        works = [complete_step(head, geometry, size) for size in (1.0, 60.0)]
        broad, bump = (one.median for one in in_turns(works, REPETITIONS))
        print(
            f"{geometry!s:17.17} {20:4} {1e3 * broad:7.2f} ms {1e3 * bump:7.2f} ms "
            f"{bump / broad:6.2f}"
        )


if __name__ == "__main__":
    main()
