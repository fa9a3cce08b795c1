"""What can be wrong with a solver: faults that the rows of the validation have to notice.

A fault changes what ``mfpde.solve``, ``minimize``, ``maximize``, ``polish`` and
``validation.fields`` compute, one thing at a time: the equation that they solve, or the states
that they return.  Particles,
closed forms and ``validation.independent`` stay as they are: they are the witnesses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.runs.layers import Dynamics
from validation.independent import cells_of

Array = NDArray[np.float64]

CORE_CELLS: Final = 4
"""What lies this near to the heaviest cell or atom is the heaviest atom."""
CONCENTRATED: Final = 5.0
"""A core is an atom if it holds this much more than the uniform measure there."""
LEAST_CORE: Final = 0.05
TOO_HEAVY: Final = 1.01
TOO_FAR: Final = 2
"""Cells by which positions are off."""

ChangeOfEquation = Callable[[Dynamics], Dynamics]
ChangeOfState = Callable[[AnyMeasure, float], AnyMeasure]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Parameters
    ----------
    name, meaning
        A word or two for the table, and what is wrong.
    equation
        The equation, or the layers, solved in place of the given ones; the same object where the
        fault does not concern it.
    state
        What a state becomes that is found on cells of the given width.
    stays
        The state at the start is returned at all times.
    forgets_potential
        Energies lack int V dmu.
    never_merges
        Exact atoms that meet stay two.
    """

    name: str
    meaning: str
    equation: ChangeOfEquation | None = None
    state: ChangeOfState | None = None
    stays: bool = False
    forgets_potential: bool = False
    never_merges: bool = False


def in_each_layer(
    change: Callable[[mfpde.MeanFieldEquation], mfpde.MeanFieldEquation],
) -> ChangeOfEquation:
    """Change an equation, or each one of layers; the same object if none is concerned."""

    def changed(dynamics: Dynamics) -> Dynamics:
        if isinstance(dynamics, mfpde.MeanFieldEquation):
            return change(dynamics)
        equations = [change(equation) for equation in dynamics.equations]
        pairs = zip(equations, dynamics.equations, strict=True)
        if all(new is old for new, old in pairs):
            return dynamics
        durations = dynamics.durations.tolist()
        return mfpde.Layers(zip(equations, durations, strict=True), seed=dynamics.seed)

    return changed


def layers_reversed(dynamics: Dynamics) -> Dynamics:
    """The last layer first; one equation stays."""
    if isinstance(dynamics, mfpde.MeanFieldEquation):
        return dynamics
    return mfpde.Layers(reversed(list(dynamics)), seed=dynamics.seed)


def with_attention(**changes: Callable[[Any], Any]) -> ChangeOfEquation:
    """Change parameters of all attentions with beta > 0."""

    def changed(equation: mfpde.MeanFieldEquation) -> mfpde.MeanFieldEquation:
        return _with_terms(equation, lambda term: _other_attention(term, changes))

    return in_each_layer(changed)


def _other_attention(term: Any, changes: dict[str, Callable[[Any], Any]]) -> Any:
    if not hasattr(term, "normalized") or term.beta == 0:
        return term
    if "kernel" in changes and term.normalized:
        return term  # softmax is the same under both kernels
    values = {name: change(getattr(term, name)) for name, change in changes.items()}
    return replace(term, **values)


def matrix_off(equation: mfpde.MeanFieldEquation) -> mfpde.MeanFieldEquation:
    """The last diagonal entry of each D a tenth of its norm too large."""
    return _with_terms(equation, _other_matrix)


def _other_matrix(term: Any) -> Any:
    if getattr(term, "bilinear", None) is None:
        return term
    matrix = np.array(term.bilinear)
    matrix[-1, -1] += 0.1 * np.linalg.norm(matrix, 2)
    return replace(term, bilinear=matrix)


def with_neurons(
    change: Callable[[mfpde.Perceptron], mfpde.Perceptron],
) -> ChangeOfEquation:
    """Change all perceptrons."""

    def changed(equation: mfpde.MeanFieldEquation) -> mfpde.MeanFieldEquation:
        return _with_terms(
            equation, lambda term: change(term) if hasattr(term, "directions") else term
        )

    return in_each_layer(changed)


def _with_terms(
    equation: mfpde.MeanFieldEquation, change: Callable[[Any], Any]
) -> mfpde.MeanFieldEquation:
    terms = [change(term) for term in equation.terms]
    if all(new is old for new, old in zip(terms, equation.terms, strict=True)):
        return equation
    return mfpde.MeanFieldEquation(
        *terms, direction=equation.direction, diffusion=equation.diffusion
    )


def _other_weights(neurons: mfpde.Perceptron, factors: Array) -> mfpde.Perceptron:
    weights = (neurons.weights.T * factors).T
    return mfpde.Perceptron(
        neurons.directions, weights, neurons.activation, biases=neurons.biases
    )


def heavier_weights(neurons: mfpde.Perceptron) -> mfpde.Perceptron:
    """All weights 5 % up."""
    return _other_weights(neurons, np.full(len(neurons.biases), 1.05))


def first_neuron_flipped(neurons: mfpde.Perceptron) -> mfpde.Perceptron:
    """The first neuron with the other sign."""
    signs = np.ones(len(neurons.biases))
    signs[0] = -1
    return _other_weights(neurons, signs)


def other_activation(neurons: mfpde.Perceptron) -> mfpde.Perceptron:
    """ReLU for GeLU and GeLU for ReLU; others stay."""
    others = {"relu": "gelu", "gelu": "relu"}
    if neurons.activation.name not in others:
        return neurons
    return mfpde.Perceptron(
        neurons.directions,
        neurons.weights,
        others[neurons.activation.name],
        biases=neurons.biases,
    )


def heaviest_heavier(state: AnyMeasure, width: float) -> AnyMeasure:
    """The heaviest atom 1 % heavier, all else lighter: the mass stays.

    A state without an atom, or with nothing else, stays as it is.
    """
    points, masses = cells_of(state)
    reach = max(CORE_CELLS * width, 1e-9)
    core = points @ points[np.argmax(masses)] >= np.cos(reach)
    held, total = float(masses[core].sum()), float(masses.sum())
    if not isinstance(state, mfpde.Atoms):
        share = as_measure(state).geometry.areas.ravel()[core[: _cells(state)]].sum()
        uniform = share / as_measure(state).geometry.areas.sum()
        if held < CONCENTRATED * uniform:
            return state
    if held < LEAST_CORE * total or held * TOO_HEAVY >= total:
        return state
    lighter = (total - TOO_HEAVY * held) / (total - held)
    return _scaled(state, np.where(core, TOO_HEAVY, lighter))


def _cells(state: AnyMeasure) -> int:
    return int(as_measure(state).geometry.areas.size)


def _scaled(state: AnyMeasure, factors: Array) -> AnyMeasure:
    """Masses of cells and then atoms times ``factors``."""
    if isinstance(state, mfpde.Atoms):
        return mfpde.Atoms(state.points, state.masses * factors, state.covariances)
    whole = as_measure(state)
    size = _cells(state)
    values = whole.density.values * factors[:size].reshape(whole.density.values.shape)
    density = mfpde.Density(whole.geometry, values)
    if isinstance(state, mfpde.Density):
        return density
    atoms = whole.atoms
    return mfpde.Measure(
        density,
        mfpde.Atoms(atoms.points, atoms.masses * factors[size:], atoms.covariances),
    )


def turned(state: AnyMeasure, width: float) -> AnyMeasure:
    """All mass two cells further: along the circle, about the last axis, or away from it."""
    if isinstance(state, mfpde.Atoms):
        return _turned_atoms(state, TOO_FAR * width)
    whole = as_measure(state)
    geometry = whole.geometry
    if isinstance(geometry, mfpde.Zonal):
        masses = np.roll(whole.density.masses, TOO_FAR)
        masses[-1] += masses[:TOO_FAR].sum()
        masses[:TOO_FAR] = 0.0
        density = mfpde.Density(geometry, masses / geometry.areas)
        return density if isinstance(state, mfpde.Density) else mfpde.Measure(density)
    values = np.roll(whole.density.values, TOO_FAR, axis=-1)
    density = mfpde.Density(geometry, values)
    if isinstance(state, mfpde.Density):
        return density
    angle = TOO_FAR * 2 * np.pi / geometry.shape[-1]
    return mfpde.Measure(density, _turned_atoms(whole.atoms, angle))


def _turned_atoms(atoms: mfpde.Atoms, angle: float) -> mfpde.Atoms:
    """Turned in the plane of the first two axes."""
    turn = np.eye(atoms.dimension)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    widths = atoms.covariances
    if widths is not None:
        widths = turn @ widths @ turn.T
    return mfpde.Atoms(atoms.points @ turn.T, atoms.masses, widths)


def potential_energy(equation: mfpde.MeanFieldEquation, state: AnyMeasure) -> float:
    """The part int V dmu of the energy."""
    points, masses = cells_of(state)
    values = [masses @ np.asarray(term.value(points)) for term in equation.externals]
    return float(sum(values))


FAULTS: Final = (
    Fault(
        "softmax",
        "softmax for unnormalised attention, and the other way round",
        equation=with_attention(normalized=lambda normalized: not normalized),
    ),
    Fault(
        "beta", "beta 20 % up", equation=with_attention(beta=lambda beta: 1.2 * beta)
    ),
    Fault("weights", "all weights 5 % up", equation=with_neurons(heavier_weights)),
    Fault(
        "activation",
        "ReLU for GeLU, and the other way round",
        equation=with_neurons(other_activation),
    ),
    Fault(
        "kernel",
        "the unshifted kernel for the shifted one, and the other way round",
        equation=with_attention(
            kernel=lambda kernel: "unshifted" if kernel == "shifted" else "shifted"
        ),
    ),
    Fault(
        "matrix",
        "the last diagonal entry of D off by a tenth of its norm",
        equation=in_each_layer(matrix_off),
    ),
    Fault("still", "a density that does not move", stays=True),
    Fault(
        "sign",
        "the sign of the first neuron",
        equation=with_neurons(first_neuron_flipped),
    ),
    Fault("order", "layers in the reverse order", equation=layers_reversed),
    Fault("no merges", "exact atoms that meet stay two", never_merges=True),
    Fault("heavy", "the heaviest atom 1 % too heavy", state=heaviest_heavier),
    Fault("moved", "positions off by two cells", state=turned),
    Fault("energy", "energies without int V dmu", forgets_potential=True),
)
