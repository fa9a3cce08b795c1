"""What the parts of a stage of labels take, and what their loops win.

    python benchmarks/labels_step.py

A stage of labels on the sphere: moments, the field and its gradient at the labels, neurons, and
the move.  Below, loops in one pass beside the array operations that they replace.  Least times of
many, in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mfpde import Attention, MeanFieldEquation, Perceptron, Sphere, perturbed_uniform
from mfpde.solver.step_sizes import motion_of_atoms
from mfpde.terms.external import tangential
from mfpde.terms.neuron_sums import affine_functions, tangential_sums
from mfpde.transport.lagrangian import LagrangianSphere, carried, largest_speed
from mfpde.transport.state import State

REPETITIONS = 200
STEP = 0.1


def least(*codes: Callable[[], object]) -> list[float]:
    """Least times of several codes in turns, in microseconds."""
    found = [np.inf] * len(codes)
    for _ in range(REPETITIONS):
        for k, code in enumerate(codes):
            begun = time.perf_counter()
            code()
            found[k] = min(found[k], 1e6 * (time.perf_counter() - begun))
    return found


def beside_arrays(
    points: np.ndarray, speeds: np.ndarray, masses: np.ndarray, layer: Perceptron
) -> None:
    """Print what each loop takes, and the array operations in its place."""
    directions, biases = layer.directions, layer.biases
    vectors = layer.weights[:, np.newaxis] * directions
    outputs = affine_functions(points, directions, biases)
    moved = carried(points, speeds, STEP)

    def carried_by_arrays() -> np.ndarray:
        ends = points + STEP * speeds
        return ends / np.linalg.norm(ends, axis=1, keepdims=True)

    pairs = {
        "arguments of neurons": (
            lambda: affine_functions(points, directions, biases),
            lambda: points @ directions.T + biases,
        ),
        "their tangential sums": (
            lambda: tangential_sums(outputs, points, vectors),
            lambda: tangential(outputs @ vectors, points),
        ),
        "the move": (lambda: carried(points, speeds, STEP), carried_by_arrays),
        "how far labels moved": (
            lambda: motion_of_atoms(points, moved, masses),
            lambda: masses @ np.linalg.norm(moved - points, axis=1),
        ),
        "the largest speed": (
            lambda: largest_speed(speeds),
            lambda: np.sqrt((speeds**2).sum(axis=1).max()),
        ),
    }
    for name, (loop, arrays) in pairs.items():
        one, other = least(loop, arrays)
        print(f"    {name:24s} {one:7.1f} us, by arrays {other:7.1f} us")


def main() -> None:
    """Print all times."""
    layer = Perceptron.random(3, 3, seed=111, activation="gelu")
    for rings in (32, 48, 64):
        sphere = Sphere(rings)
        masses = perturbed_uniform(sphere, 0.2).masses
        for normalized in (False, True):
            attention = Attention(5.0, normalized=normalized)
            equation = MeanFieldEquation(attention, layer, direction="ascent")
            transport = LagrangianSphere(equation.on(sphere))
            state = transport.evolved(State(masses, np.empty((0, 3)), np.empty(0)))
            grid, points, weights = transport.grid, state.points, state.atom_masses
            flow = transport.flow(state)
            coefficients = flow.moments
            whole, moments, field, neurons = least(
                lambda t=transport, s=state: t.flow(s),
                lambda g=grid, p=points, w=weights: g.geometry.atom_moments(
                    p, w, g.degree
                ),
                lambda g=grid, c=coefficients, p=points: g.geometry.field_at(c, p),
                lambda p=points: layer.drift(p),
            )
            print(
                f"{rings} rings, {'softmax' if normalized else 'attention'}, degree "
                f"{grid.degree}: {whole:.0f} us; moments {moments:.0f}, field "
                f"{field:.0f}, neurons {neurons:.0f}"
            )
        beside_arrays(points, flow.atom_velocities, weights, layer)


if __name__ == "__main__":
    main()
