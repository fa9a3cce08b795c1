"""Particles behind masks: tokens one by one, as many for each row, and the rows of runs."""

from __future__ import annotations

import numpy as np
import pytest
from random_points import random_atoms
from scipy.integrate import solve_ivp
from stored import assert_same
from test_rows import CIRCLE, GEOMETRIES, NORMALIZED, equation, turning

import mfpde

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
SEES = pytest.mark.parametrize("sees_itself", [True, False])


def pull_by_hand(attention, atoms, positions, causal) -> np.ndarray:
    """The sums over the tokens before each, as they stand in the formula."""
    n, keys = len(atoms), attention.keys_matrix
    result = np.zeros(atoms.points.shape)
    for i in range(n):
        seen = np.arange(i + causal.sees_itself)
        weights = atoms.masses[seen] * np.exp(causal.alibi * positions[seen])
        logits = attention.beta * (atoms.points[seen] @ (keys.T @ atoms.points[i]))
        kernel = np.exp(logits - attention.shift)
        if attention.normalized:
            weights = weights * kernel
            kernel = 1.0
        sent = weights / max(weights.sum(), 1e-300) * kernel
        result[i] = attention.values_matrix @ (sent @ atoms.points[seen])
    return result


def tangential(vectors, points) -> np.ndarray:
    return vectors - (vectors * points).sum(axis=1, keepdims=True) * points


@NORMALIZED
@SEES
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_tokens_are_pulled_by_those_before_them(
    dimension, sees_itself, normalized
) -> None:
    """In any dimension, with the matrices of a head or without."""
    atoms, positions = random_atoms(40, dimension, seed=7), np.linspace(0.1, 1, 40) ** 2
    causal = mfpde.Causal(alibi=-3.0, sees_itself=sees_itself)
    tokens = mfpde.PositionedAtoms(atoms.points, atoms.masses, positions=positions)
    matrix = np.random.default_rng(2).standard_normal((2, dimension, dimension))
    for keys, values in (matrix, np.array(2 * [np.eye(dimension)])):
        options = {"beta": 4.0, "normalized": normalized, "positions": causal}
        head = mfpde.Attention(bilinear=keys, value=values, **options)
        found = mfpde.MeanFieldEquation(head, direction="descent").velocity(tokens)
        expected = -pull_by_hand(head, tokens, positions, causal)
        expected = tangential(expected, tokens.points)
        assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()
    plain = mfpde.MeanFieldEquation(mfpde.Attention(**options), direction="descent")
    assert np.abs(plain.velocity(tokens) - expected).max() < 1e-13


@pytest.mark.parametrize("name", ["pre", "peri", "ngpt"])
def test_tokens_behind_a_mask_move_as_their_normalization_says(name) -> None:
    """x' = m (pre), m / |m| (peri) and m_T / |m| (nGPT), m of the tokens before each."""
    atoms, positions = random_atoms(9, 3, seed=4), np.arange(1, 10) / 9
    seen = mfpde.Causal(alibi=2.0)
    head = mfpde.Attention(3.0, bilinear=np.diag([1.0, 0.5, -0.3]), positions=seen)

    def move(_, numbers):
        tokens = numbers.reshape(9, 3)
        points = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
        there = mfpde.Atoms(points, atoms.masses)
        motion = pull_by_hand(head, there, positions, seen)
        if name != "pre":
            motion /= np.linalg.norm(motion, axis=1, keepdims=True)
        return (tangential(motion, points) if name == "ngpt" else motion).ravel()

    expected = solve_ivp(move, (0, 1), atoms.points.ravel(), rtol=1e-10, atol=1e-12)
    scaled = mfpde.MeanFieldEquation(
        head, direction="ascent", normalization=mfpde.Normalization(name)
    )
    run = mfpde.solve_particles(scaled, atoms, positions=positions, t_end=1.0, **TIGHT)
    tokens = run.radii[-1][:, np.newaxis] * run.final.points
    assert np.abs(tokens.ravel() - expected.y[:, -1]).max() < 1e-8


@NORMALIZED
@SEES
def test_sums_by_moments_are_direct_ones(sees_itself, normalized) -> None:
    """Two masks, softmax where its sum is small, and what one sees at beta = 300."""
    atoms = random_atoms(100, 2, seed=3)
    for beta in (0.0, 3.0, 300.0):
        both = mfpde.MeanFieldEquation(
            mfpde.Attention(
                beta,
                normalized=normalized,
                positions=mfpde.Causal(alibi=50.0, sees_itself=sees_itself),
            ),
            mfpde.Attention(1.0, positions=mfpde.Weights(np.eye(100)[::-1])),
            mfpde.Attention(2.0),
            direction="ascent",
        )
        places = {"positions": np.arange(1, 101) / 100, "t_end": 0.3, **TIGHT}
        ends = [
            mfpde.solve_particles(both, atoms, method=method, **places).final.points
            for method in ("direct", "spectral")
        ]
        assert np.abs(ends[0] - ends[1]).max() < 1e-9


@GEOMETRIES
@NORMALIZED
def test_tokens_of_rows_come_near_the_rows(geometry, normalized) -> None:
    """M tokens for each of P rows on the sphere as 1 / M, on the circle from few on.

    There means over quantiles are trapezoidal sums; what is left is that values are those at the
    centres, h^2 / 24 from means.  Labels are as near as their rows are to each other.
    """
    masked = equation(mfpde.Causal(alibi=1.0), normalized=normalized)
    start = turning(geometry, 4)
    rows = mfpde.solve(masked, start, t_end=1.0, rtol=1e-7).final
    points = geometry.points.reshape(-1, geometry.dimension)
    means = rows.masses.reshape(4, -1) @ points
    few, many = (
        mfpde.solve_particles(masked, start, count=count, t_end=1.0, **TIGHT).final
        for count in (64 if geometry is CIRCLE else 16, 256)
    )
    of_few, error = (np.abs(one.means() - means).max() for one in (few, many))
    assert error < (1e-4 if geometry is CIRCLE else 1e-3)
    assert of_few < 1e-4 if geometry is CIRCLE else error < of_few / 8
    if geometry is CIRCLE:
        run = mfpde.solve_particles(masked, start, method="labels", t_end=1.0, **TIGHT)
        for row, expected in zip(run.final.rows(), rows.moments(6), strict=True):
            found = CIRCLE.atom_moments(row.points, row.masses, 6)
            assert np.abs(found - expected).max() < 3e-8


@SEES
def test_many_tokens_in_their_order_are_the_rows(sees_itself, rng) -> None:
    """At a time far below log(N) / c, whether they see themselves or not."""
    start, s = turning(CIRCLE, 15), (np.arange(6000) + 0.5) / 6000
    rows = mfpde.solve(equation(mfpde.Causal(alibi=1.0)), start, t_end=0.5).final
    drawn = [mfpde.quantized(start.row(i), 400).points for i in range(15)]
    tokens = mfpde.solve_particles(
        equation(mfpde.Causal(alibi=1.0, sees_itself=sees_itself)),
        mfpde.Atoms(np.concatenate(list(map(rng.permutation, drawn)))),
        positions=s,
        t_end=0.5,
    ).final
    apart = tokens.means(start.edges) @ [1, -1j] - rows.moments(1)[:, 1]
    assert np.abs(apart[1:]).max() < 1e-3


def test_tokens_are_stored_and_go_on(tmp_path) -> None:
    masked = equation(mfpde.Causal(alibi=1.0))
    for start, places in (
        (turning(CIRCLE, 3), {"count": 5}),
        (random_atoms(9, 3), {"positions": np.arange(1, 10) / 9}),
    ):
        run = mfpde.solve_particles(masked, start, t_end=0.4, save_every=0.2, **places)
        assert np.isnan(run.energies).all()
        assert "attention" in str(run)
        run.save(tmp_path / f"{len(run.final)}.zarr")
        stored = mfpde.load(tmp_path / f"{len(run.final)}.zarr")
        assert_same(stored.states, run.states)
        half = mfpde.solve_particles(masked, stored.at(0.2), t_end=0.2, **TIGHT)
        assert np.abs(half.final.points - run.final.points).max() < 1e-5


@GEOMETRIES
def test_a_row_of_a_run_is_a_run_that_knows_what_it_sees(geometry) -> None:
    """Its field is that of its mixture; verdicts, tracks and pictures follow from it."""
    neuron = mfpde.Perceptron([np.eye(geometry.dimension)[0]], [0.5], "tanh")
    masked = equation(mfpde.Causal(alibi=2.0), neuron, beta=6.0)
    run = mfpde.solve(masked, turning(geometry, 4), t_end=12.0, save_every=2.0)
    one, weights = run.rows(3), mfpde.Causal(alibi=2.0).find_weights(run.final.edges)
    mixture = mfpde.Density(geometry, np.tensordot(weights[3], run.final.values, 1))
    alone = equation(None, neuron, beta=6.0)
    for ask in ("velocity", "first_variation"):
        for places in ((), (geometry.points,)):
            found = getattr(masked, ask)(one.final, *places)
            expected = getattr(alone, ask)(mixture, *places)
            assert np.abs(found - expected).max() < 1e-13
    assert masked.energy(one.final) is None
    reports = mfpde.concentration(run.final, masked)
    assert [report.verdict for report in reports] == 4 * ["atoms"]
    assert sum(atom.mass for atom in reports[3].atoms) == pytest.approx(1, abs=1e-6)
    tracked = one.tracked()
    assert tracked.track.counts[-1] == len(reports[3].atoms)
    assert mfpde.plot_run(tracked).axes
    assert "verdict: atoms" in str(one)
