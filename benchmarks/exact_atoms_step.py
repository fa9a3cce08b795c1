"""Cost of a step with ten exact atoms, hand-off included, in steps of the grid alone.

Both advance the same density, in turns that end with a hand-off, and
processor time is counted: the machine may be shared.  Prints the mean over all turns.

    python benchmarks/exact_atoms_step.py
"""

from __future__ import annotations

import time

import numpy as np

from mfpde import (
    Atoms,
    Attention,
    Circle,
    Density,
    MeanFieldEquation,
    Measure,
    Perceptron,
    Sphere,
    uniform,
)
from mfpde.atoms import ExactAtoms, state_of
from mfpde.measures.sampling import quantized
from mfpde.transport import scheme_for

WARM_UP = 48
STEPS = 288
"""Steps counted; later there are fewer atoms."""
ATOMS = 10
SHARE_OF_ATOMS = 0.3


class Stepping:
    """A state that goes on by whole steps, with or without exact atoms."""

    def __init__(self, measure: Measure, equation: MeanFieldEquation) -> None:
        geometry = measure.geometry
        scheme = scheme_for(None, geometry, exact_atoms=True)
        transport = scheme.transport(equation.on(geometry))
        self.transport = transport
        self.exact = ExactAtoms(equation, transport) if len(measure.atoms) else None
        masses = transport.represented(measure.density.masses)
        self.state = state_of(masses, measure.atoms)
        self.taken = 0.0
        self.steps = transport.steps_to_hand_off

    def turn(self) -> None:
        """Take the steps between two hand-offs and, with atoms, one hand-off."""
        begin = time.process_time()
        for _ in range(self.steps):
            step = 0.3 * self.transport.largest_step(self.state)
            self.state = self.transport.step(self.state, step).state
        if self.exact is not None:
            flow = self.transport.flow(self.state)
            self.state, _ = self.exact.hand_off.apply(self.state, flow, 0.0)
        self.taken += time.process_time() - begin


def measure_with_atoms(geometry: Circle | Sphere) -> Measure:
    """A smooth density and ten atoms, half a cell wide, spread over the sphere."""
    points = quantized(uniform(geometry), ATOMS).points
    dimension = geometry.dimension
    flat = np.eye(dimension) - points[:, :, np.newaxis] * points[:, np.newaxis]
    covariances = (0.5 * geometry.spacing) ** 2 * flat
    masses = np.full(ATOMS, SHARE_OF_ATOMS / ATOMS)
    smooth = Density.from_function(
        geometry, lambda x: np.exp(x[..., 0] + x[..., 1] ** 2)
    )
    rest = Density(geometry, (1 - SHARE_OF_ATOMS) * smooth.values)
    return Measure(rest, Atoms(points, masses, covariances))


def ratio(geometry: Circle | Sphere) -> tuple[float, float, int]:
    """Seconds of a step of either, and the number of atoms at the end.

    Of two equal runs the second counts: a birth or a release loads compiled code when it
    happens first, for the time of a dozen steps.
    """
    _run(geometry)
    return _run(geometry)


def _run(geometry: Circle | Sphere) -> tuple[float, float, int]:
    equation = MeanFieldEquation(
        Attention(8.0),
        Perceptron.random(3, geometry.dimension, seed=111),
        direction="ascent",
    )
    measure = measure_with_atoms(geometry)
    alone = Measure(measure.density.normalized())
    both = Stepping(alone, equation), Stepping(measure, equation)
    for stepping in both:
        for _ in range(WARM_UP // stepping.steps):
            stepping.turn()
        stepping.taken = 0.0
    turns = STEPS // both[0].steps
    for _ in range(turns):
        for stepping in both:
            stepping.turn()
    grid, exact = (s.taken / (turns * s.steps) for s in both)
    return grid, exact, len(both[1].state.atom_masses) // both[1].state.cloud_size


def main(quick: bool = False) -> dict[str, float]:
    """Print the table; return the ratios."""
    found = {}
    for geometry in (Sphere(64), Sphere(128), Circle(1024))[: 1 if quick else None]:
        grid, exact, count = ratio(geometry)
        print(
            f"{geometry!r}: grid {1e3 * grid:.3f} ms, with {count} atoms "
            f"{1e3 * exact:.3f} ms, ratio {exact / grid:.2f}"
        )
        found[repr(geometry)] = exact / grid
    return found


if __name__ == "__main__":
    main()
