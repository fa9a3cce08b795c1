"""What ``solve`` is given: how a run is computed, and checks before any work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, check_kind, choice, real_number
from mfpde.atoms import check_atoms
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Measure
from mfpde.positions.blocks import is_discrete
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.positions.rows_equation import scheme_of_rows
from mfpde.positions.schemes import scheme_of_layers, scheme_of_tokens
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import (
    Dynamics,
    Layers,
    Stage,
    equations_of,
    for_each_layer,
    largest_degree,
)
from mfpde.runs.stopping import SHORTEST_TIME
from mfpde.transport import LARGEST_DEGREE, Scheme, scheme_for


@dataclass(frozen=True, eq=False)
class Method:
    """How a run is computed on any layer: scheme, tolerance, longest step, exact atoms or not."""

    scheme: Scheme
    rtol: float
    longest_step: float = np.inf
    exact_atoms: bool = False


def check_start(measure: Measure, equation: MeanFieldEquation) -> None:
    """Raise ``ValueError`` for no probability, atoms and diffusion, or positions without rows."""
    _ = equation.without_normalization.interactions
    if abs(measure.total_mass - 1.0) > 1e-8:
        raise ValueError(
            f"start has total mass {measure.total_mass:.12g}; a probability has 1 "
            "(Density.normalized() scales it)"
        )
    if len(measure.atoms) and equation.diffusion > 0:
        raise ValueError(
            f"start has atoms and the equation diffusion = {equation.diffusion:g}, which "
            "dissolves atoms at once; start from a density"
        )


def positive_or_infinite(name: str, value: float | None) -> float:
    """Return ``value``, a length of time above 0, or infinity for None."""
    return np.inf if value is None else real_number(name, value, at_least=SHORTEST_TIME)


def choose_method(
    dynamics: Dynamics,
    measure: RunState,
    *,
    transport: str | None,
    atoms: str,
    rtol: float,
    max_step: float | None,
) -> Method:
    """Return how a run is computed, by the scheme named ``transport`` or for None the default.

    ``ValueError`` for an unknown name, labels that cannot carry the mass, or equations, of which
    the message names the first, that the start or the scheme does not fit.
    """
    rtol = real_number("rtol", rtol, above=0.0, at_most=1.0)
    longest_step = positive_or_infinite("max_step", max_step)
    geometry, is_exact, scheme = measure.geometry, atoms == "exact", None
    first = equations_of(dynamics)[0]
    if first.normalization is not None:
        for_each_layer(dynamics, lambda layer: scheme_of_tokens(layer, measure))
        scheme = scheme_of_tokens(first, measure)
    elif is_discrete(dynamics):
        scheme = scheme_of_layers(measure)
    elif isinstance(measure, PositionedDensity):
        scheme = scheme_of_rows(measure)
    if isinstance(measure, Measure):
        for_each_layer(dynamics, lambda layer: check_start(measure, layer))
    if scheme is not None:
        # There is no other one, and none for exact atoms.
        choice("atoms", atoms, ["grid"])
        choice("transport", transport or scheme.name, [scheme.name])
        make = scheme.transport
        for_each_layer(dynamics, lambda layer: make(layer.on(geometry)))
        return Method(scheme, rtol, longest_step)
    degree = largest_degree(dynamics, geometry)
    diffusion = max(equation.diffusion for equation in equations_of(dynamics))
    owner = "a layer" if isinstance(dynamics, Layers) else "the equation"
    obstacles = {
        f"geometry = {geometry!r}": geometry.dimension != 3,
        f"{owner} has diffusion = {diffusion:g}": diffusion > 0,
        "start has atoms": len(measure.atoms) > 0,
        "atoms = 'exact'": is_exact,
    }
    obstacle = next((words for words, stands in obstacles.items() if stands), None)
    has_labels = obstacle is None and degree <= LARGEST_DEGREE
    scheme = scheme_for(transport, geometry, exact_atoms=is_exact, labels=has_labels)
    if scheme.moves_labels and obstacle is not None:
        raise ValueError(
            f"transport = {scheme.name!r} moves the mass of a density along the "
            f"characteristics alone, but {obstacle}; use 'spectral_donor_blended'"
        )
    for_each_layer(dynamics, lambda layer: check_atoms(atoms, layer, geometry))
    if isinstance(dynamics, Layers):
        # The finest of the layers decides, before any work.
        for_each_layer(dynamics, lambda layer: scheme.transport(layer.on(geometry)))
    return Method(scheme, rtol, longest_step, is_exact)


def check_moment(
    checkpoint: Checkpoint, stages: tuple[Stage, ...], times: FloatArray
) -> None:
    """Raise ``ValueError`` if saves and layers are not those of the run that stopped."""
    source = "as stored_checkpoint(path).checkpoint is one"
    check_kind("resume_from", checkpoint, Checkpoint, source=source)
    before, after = np.split(times, [checkpoint.saves])
    is_moment = (
        len(before) == checkpoint.saves
        and checkpoint.stage < len(stages)
        and (before[-1:] == checkpoint.saved_until).all()
        and (after[:1] > checkpoint.time).all()
    )
    if not is_moment:
        raise ValueError(
            f"resume_from was taken at t = {checkpoint.time:g} after {checkpoint.saves} "
            f"saves in layer {checkpoint.stage + 1}, which is no moment of this run: it "
            "goes on with the very arguments of the run that stopped"
        )
