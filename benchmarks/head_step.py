"""Cost of a step with one general head of attention, in steps with isotropic attention.

Prints, for the sphere of 128 x 256 cells and the circle of 1024, the time of a complete step
of the default scheme with matrices D and V that have nothing to do with each other, and its
ratio to the step with D = V = I at the same beta |D|: medians over repetitions, in turns, on
one thread.

    python benchmarks/head_step.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results_table import in_turns
from sphere_step import REPETITIONS

from mfpde import Attention, Circle, Density, MeanFieldEquation, Sphere
from mfpde.geometry import Geometry
from mfpde.solver.time_stepping import TimeStepper
from mfpde.transport import State, scheme_for

BETAS = (1.0, 5.0, 10.0)
GRIDS = (Circle(1024), Sphere(128))


def complete_step(attention: Attention, geometry: Geometry) -> Callable[[], object]:
    """Return one step of the default scheme from a smooth density."""
    equation = MeanFieldEquation(attention, direction="ascent")
    scheme = scheme_for("donor_blended", geometry)
    transport = scheme.transport(equation.on(geometry))
    stepper = TimeStepper(transport, scheme, rtol=1e-4, watch_energy=False)
    density = Density.from_function(geometry, lambda x: np.exp(x[..., 0]))
    none = np.empty((0, geometry.dimension)), np.empty(0)
    state = State(transport.represented(density.masses), *none)
    flow = transport.flow(state)
    length = transport.longest_step(state, flow)
    return lambda: stepper.step(state, flow, length)


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


if __name__ == "__main__":
    main()
