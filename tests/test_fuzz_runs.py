"""Random equations, starts, grids and schemes: what holds for all of them.

Mass, sign, finiteness, symmetries, and that nothing is lost on disk.
Weights may be denormal or huge: then a run ends early and says so.
"""

from __future__ import annotations

import numpy as np
import pytest
from fuzzing import Case, cases, equations, few, usual
from hypothesis import assume, example, given
from hypothesis import strategies as st

import mfpde
from mfpde.measures.measure import atoms_of
from mfpde.storage.records import to_json

pytestmark = pytest.mark.filterwarnings("ignore:the grid is coarse")
KINDS = ("circle", "sphere", "zonal")
ENDS = ("t_end", "step_limit", "step_too_small", "non_finite")
ROUNDING = 1e-12
CIRCLE, SPHERE = mfpde.Circle(48), mfpde.Sphere(32)


@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", KINDS)
def test_mass_sign_and_finiteness(kind: str) -> None:
    @few(25 if kind != "sphere" else 15)
    @given(case=cases(kind))
    def check(case: Case) -> None:
        run = case.solved()
        assert run.stop.kind in ENDS
        for state in (*run.states, run.final):
            assert abs(state.total_mass - 1) <= ROUNDING
            assert np.isfinite(state.density.values).all()
            assert (state.density.values >= 0).all()
            assert (state.atoms.masses > 0).all()
            assert np.isfinite(state.atoms.points).all()
        if case.equation.energy_is_lyapunov:
            assert np.isfinite(run.energies).all()
        assert run.mass_drift <= ROUNDING
        assert repr(run)

    check()


# Symmetries -----------------------------------------------------------------------------------


def moved(
    equation: mfpde.MeanFieldEquation, matrix: np.ndarray
) -> mfpde.MeanFieldEquation:
    """Return the equation as it is seen after a rotation or reflection."""

    def turned(square):
        return None if square is None else matrix @ square @ matrix.T

    def term_of(term):
        if isinstance(term, mfpde.Perceptron):
            directions = term.directions @ matrix.T
            numbers = (term.weights, term.activation)
            return mfpde.Perceptron(directions, *numbers, biases=term.biases)
        if term.is_zonal:
            return term
        return mfpde.Attention(
            term.beta,
            normalized=term.normalized,
            kernel=term.kernel,
            bilinear=turned(term.bilinear),
            value=turned(term.value),
        )

    return mfpde.MeanFieldEquation(
        *map(term_of, equation.terms),
        direction=equation.direction,
        diffusion=equation.diffusion,
    )


RESTS_AT_A_FACE = mfpde.MeanFieldEquation(
    mfpde.Attention(1.0, bilinear=[[0.0, 0.5], [0.0, 0.0]]), direction="ascent"
)
"""The velocity at angle 0, where two cells meet, is 0 whatever the density."""


def rests_at_a_face(equation: mfpde.MeanFieldEquation, values: np.ndarray) -> bool:
    """Whether velocities on both sides of a face cancel, so that rounding says which is upwind.

    The fifth-order flux of donor blending is then one or the other of two that differ by its
    truncation error, and a turned run may take the other one.
    """
    vectors = equation.velocity(mfpde.Density(CIRCLE, values))
    angles = np.arctan2(*CIRCLE.points.T[::-1])
    speeds = vectors[:, 1] * np.cos(angles) - vectors[:, 0] * np.sin(angles)
    sums, largest = np.abs(speeds + np.roll(speeds, -1)), np.abs(speeds).max()
    return largest > 0 and sums.min() <= 1e-10 * largest


def check_turned_run(equation, values, turn, image, geometry, scheme) -> None:
    """The run of the turned equation from the turned start is the turned run."""
    runs = [
        Case(one, mfpde.Measure(mfpde.Density(geometry, cells)), scheme)
        for one, cells in ((equation, values), (moved(equation, turn), image(values)))
    ]
    here, there = (run.solved(rtol=1e-2).final.density.values for run in runs)
    np.testing.assert_allclose(there, image(here), atol=1e-10)


def turn_of_plane(angle: float, dimension: int) -> np.ndarray:
    matrix = np.eye(dimension)
    c, s = np.cos(angle), np.sin(angle)
    matrix[:2, :2] = [[c, -s], [s, c]]
    return matrix


@example(
    equation=RESTS_AT_A_FACE, seed=0, shift=1, mirrored=False, scheme="semi_lagrangian"
)
@given(
    equation=equations(CIRCLE, sizes=usual),
    seed=st.integers(0, 99),
    shift=st.integers(0, 47),
    mirrored=st.booleans(),
    scheme=st.sampled_from(["donor_blended", "semi_lagrangian"]),
)
@few(20)
def test_turning_and_reflecting_the_circle_turns_the_run(
    equation, seed, shift, mirrored, scheme
) -> None:
    values = mfpde.perturbed_uniform(CIRCLE, 0.7, seed=seed).values
    assume(scheme != "donor_blended" or not rests_at_a_face(equation, values))
    # The cells' centres are those of their mirror images.
    mirror = np.diag([1.0, -1.0]) if mirrored else np.eye(2)
    turn = turn_of_plane(shift * CIRCLE.spacing, 2) @ mirror

    def image(cells: np.ndarray) -> np.ndarray:
        return np.roll(cells[::-1] if mirrored else cells, shift)

    check_turned_run(equation, values, turn, image, CIRCLE, scheme)


@given(
    equation=equations(SPHERE, sizes=usual),
    seed=st.integers(0, 99),
    turns=st.integers(0, 7),
    scheme=st.sampled_from(["donor_blended", "spectral_donor_blended"]),
)
@few(12)
def test_turning_the_sphere_about_its_axis_turns_the_run(
    equation, seed, turns, scheme
) -> None:
    # At the poles eight cells of a ring move as one.
    shift = 8 * turns
    values = mfpde.perturbed_uniform(SPHERE, 0.7, seed=seed).values
    turn = turn_of_plane(shift * 2 * np.pi / SPHERE.nlon, 3)

    def image(cells: np.ndarray) -> np.ndarray:
        return np.roll(cells, shift, axis=1)

    check_turned_run(equation, values, turn, image, SPHERE, scheme)


# On disk --------------------------------------------------------------------------------------


@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_run_is_read_to_the_bit(kind: str, tmp_path) -> None:
    @few(8)
    @given(case=cases(kind))
    def check(case: Case) -> None:
        run = case.solved()
        mfpde.save(run, tmp_path / "run.zarr", overwrite=True)
        read = mfpde.load(tmp_path / "run.zarr")
        np.testing.assert_array_equal(read.times, run.times)
        assert read.stop == run.stop
        assert repr(read.equation) == repr(run.equation)
        assert to_json(read.equation) == to_json(run.equation)
        for name, values in run.diagnostics.items():
            np.testing.assert_array_equal(read.diagnostics[name], values)
        pairs = zip((*run.states, run.final), (*read.states, read.final), strict=True)
        for before, after in pairs:
            np.testing.assert_array_equal(after.density.values, before.density.values)
            for name in ("points", "masses"):
                here, there = (getattr(atoms_of(m), name) for m in (before, after))
                np.testing.assert_array_equal(there, here)

    check()
