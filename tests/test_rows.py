"""Rows of densities behind masks: identities, exact responses, stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from random_points import bump
from scipy.special import ive
from stored import assert_same

import mfpde
from mfpde.commands.command_line import main
from mfpde.storage import RunWriter, stored_checkpoint

CIRCLE, SPHERE = mfpde.Circle(128), mfpde.Sphere(32)
GEOMETRIES = pytest.mark.parametrize("geometry", [CIRCLE, SPHERE], ids=["S1", "S2"])
NORMALIZED = pytest.mark.parametrize("normalized", [False, True])


def equation(positions=None, *terms, beta=3.0, direction="ascent", **options):
    attention = mfpde.Attention(beta, positions=positions, **options)
    return mfpde.MeanFieldEquation(attention, *terms, direction=direction)


def turning(geometry, positions=8) -> mfpde.PositionedDensity:
    """Rows whose mean turns with the position."""
    return mfpde.PositionedDensity.from_function(
        geometry,
        lambda x, s: 1 + 0.5 * x[..., :2] @ [np.cos(3 * s), np.sin(3 * s)],
        positions,
    )


@pytest.mark.parametrize("alibi", [0.0, 1.0, -2.0, 30.0])
def test_weights_are_means_over_cells(alibi) -> None:
    """W_ij, j < i, is the mean over cell i of (E(e_j) - E(e_(j-1))) / E(s); rows have sum 1."""
    edges = np.linspace(0, 1, 10) ** 1.3
    sizes = np.expm1(alibi * edges) if alibi else edges
    nodes, weights = np.polynomial.legendre.leggauss(40)
    expected = np.zeros((9, 9))
    for i in range(1, 9):
        s = (edges[i] + edges[i + 1] + (edges[i + 1] - edges[i]) * nodes) / 2
        means = weights / 2 @ (1 / (np.expm1(alibi * s) if alibi else s))
        expected[i, :i] = means * np.diff(sizes)[:i]
    expected += np.diag(1 - expected.sum(axis=1))
    found = mfpde.Causal(alibi=alibi).find_weights(edges)
    assert np.abs(found - expected).max() < 1e-14


def test_without_a_mask_cells_weigh_as_they_are_wide() -> None:
    edges = np.array([0.0, 0.1, 0.4, 1.0])
    assert np.allclose(mfpde.Full().find_weights(edges), np.diff(edges), atol=1e-15)


@pytest.mark.parametrize("alibi", [1e3, -1e3, 1e5, -1e5])
def test_weights_of_strong_biases_are_finite(alibi) -> None:
    weights = mfpde.Causal(alibi=alibi).find_weights(np.linspace(0, 1, 6))
    own = 1 - 5 / alibi if alibi > 0 else 0.0
    assert np.allclose(np.diag(weights)[1:], own, atol=1e-9)
    assert np.allclose(weights.sum(axis=1), 1)


@GEOMETRIES
@NORMALIZED
@pytest.mark.parametrize("count", [1, 5])
def test_equal_rows_are_the_density_alone(count, geometry, normalized) -> None:
    """A causal mask is invisible to rows that start equal; with two neurons in descent."""
    neurons = mfpde.Perceptron(np.eye(2, geometry.dimension), [0.3, -0.4], "tanh")
    options = {"beta": 2.0, "direction": "descent", "normalized": normalized}
    start = mfpde.PositionedDensity.repeated(bump(geometry), count)
    masked = equation(mfpde.Causal(alibi=1.0), neurons, **options)
    rows = mfpde.solve(masked, start, t_end=1.0, rtol=1e-6).final
    assert np.abs(rows.masses - rows.masses[0]).max() <= 1e-13 * rows.masses.max()
    times = {"t_end": 1.0, "rtol": 1e-6, "transport": "donor_blended"}
    alone = mfpde.solve(equation(None, neurons, **options), bump(geometry), **times)
    # Steps differ: the sum of five rows' errors is compared with that of five rows' changes.
    allowed = 1e-13 if count == 1 else 2e-6
    assert np.abs(rows.values[-1] - alone.final.density.values).max() < allowed


@GEOMETRIES
@pytest.mark.parametrize("has_matrices", [False, True])
def test_without_a_mask_the_mean_follows_the_equation_alone(
    geometry, has_matrices
) -> None:
    start = turning(geometry)
    matrix = np.diag([1.0, 0.5, -0.3][: geometry.dimension])
    head = {"bilinear": matrix, "value": matrix} if has_matrices else {}
    unmasked = equation(beta=2.0, **head)
    rows = mfpde.solve(unmasked, start, t_end=1.0, rtol=1e-6).final
    alone = mfpde.solve(
        unmasked, start.mean(), t_end=1.0, rtol=1e-6, transport="donor_blended"
    )
    mean, expected = (
        geometry.moments(one.masses, 6) for one in (rows.mean(), alone.final.density)
    )
    assert np.abs(mean - expected).max() < (1e-7 if geometry is CIRCLE else 3e-5)


@NORMALIZED
@pytest.mark.parametrize("omega", [0.0, 2.5])
def test_uniform_rows_respond_turn_and_mix_waves(omega, normalized) -> None:
    """Moments of waves k follow expm(t A_k), -ik Omega_i on the diagonal, Omega_i the turning.

    Without RoPE they follow expm(g_k t W), for any W with rows of sum 1.
    """
    beta, eps, t = 3.0, 1e-4, 1.5
    generator = np.random.default_rng(3)
    changes, matrix = generator.standard_normal((3, 5)), generator.random((5, 5))
    edges = np.array([0.0, 0.1, 0.3, 0.4, 0.8, 1.0])
    seen = mfpde.Causal(alibi=1.0, rope=omega)
    if not omega:
        seen = mfpde.Weights(matrix / matrix.sum(axis=1, keepdims=True))
    weights, middles = seen.find_weights(edges), (edges[1:] + edges[:-1]) / 2
    a = omega * np.subtract.outer(middles, middles)
    waves = np.exp(-1j * np.outer(np.arange(1, 4), CIRCLE.angles))
    ends = []
    for sign in (eps, -eps):
        values = (1 + sign * changes.T @ waves.real) / (2 * np.pi)
        rows = mfpde.PositionedDensity(CIRCLE, values, edges)
        turned = equation(seen, normalized=normalized)
        ends.append(mfpde.solve(turned, rows, t_end=t, rtol=1e-8).final.masses)
    found = (ends[0] - ends[1]) @ waves.T / eps
    kernel = ive(np.arange(5), beta) / (ive(0, beta) if normalized else 1.0)
    turning = kernel[1] * (weights * np.sin(a)).sum(axis=1)
    for k, change in enumerate(changes, 1):
        across = (kernel[k - 1] + kernel[k + 1]) / 2
        pull = 1j * k * kernel[k] / beta * np.cos(a) + across * np.sin(a)
        pull -= normalized * kernel[k] * turning[:, np.newaxis]
        rates = -1j * k * (weights * np.exp(1j * k * a) * pull + np.diag(turning))
        expected = scipy.linalg.expm(t * rates) @ change
        allowed = 5e-6 if omega else 2e-6
        assert np.abs(found[:, k - 1] - expected).max() < allowed


def test_rows_do_not_know_later_ones() -> None:
    """With fixed steps rows 1..p are to the bit what they are without those behind."""
    start = turning(CIRCLE, 6)
    other = start.values.copy()
    other[4:] = bump(CIRCLE).values
    masked = equation(mfpde.Causal(alibi=2.0))
    fixed = {"t_end": 0.5, "rtol": 1.0, "max_step": 0.01}
    first = mfpde.solve(masked, start, **fixed).final
    second = mfpde.solve(masked, mfpde.PositionedDensity(CIRCLE, other), **fixed).final
    assert np.array_equal(first.values[:4], second.values[:4])
    assert np.abs(first.values[4:] - second.values[4:]).max() > 0.01


@GEOMETRIES
def test_heads_diffusion_and_layers_keep_mass_and_sign(geometry) -> None:
    matrix = np.diag([1.0, 0.5, -0.3][: geometry.dimension])
    first = equation(mfpde.Causal(), beta=2.0, bilinear=matrix, value=matrix @ matrix)
    second = mfpde.MeanFieldEquation(
        mfpde.Attention(2.0, positions=mfpde.Causal(alibi=3.0)),
        mfpde.Attention(1.0, normalized=True),
        direction="ascent",
        diffusion=0.02,
    )
    layers = mfpde.Layers([(first, 0.3), (second, 0.3)])
    run = mfpde.solve(layers, turning(geometry, 4))
    masses = run.final.masses.reshape(4, -1)
    assert np.abs(masses.sum(axis=1) - 1).max() < 1e-13
    assert masses.min() >= 0
    assert run.diagnostics["mass"] == pytest.approx(1, abs=1e-13)


@GEOMETRIES
def test_a_run_of_rows_is_stored_and_goes_on_to_the_bit(geometry, tmp_path) -> None:
    matrix = np.full((4, 4), 0.25)
    both = mfpde.MeanFieldEquation(
        mfpde.Attention(2.0, positions=mfpde.Causal(alibi=1.0)),
        mfpde.Attention(1.0, normalized=True, positions=mfpde.Weights(matrix)),
        direction="ascent",
    )
    edges = [0, 0.1, 0.4, 0.7, 1]
    start = mfpde.PositionedDensity(geometry, turning(geometry, 4).values, edges)
    whole = mfpde.solve(both, start, t_end=0.5, save_every=0.1)
    path = tmp_path / "rows.zarr"
    given = {"t_end": 0.5, "save_every": 0.1}
    writer = RunWriter(path, both, geometry)
    mfpde.solve(both, start, stop=mfpde.StepLimit(2), observer=writer, **given)
    checkpoint = stored_checkpoint(path)
    writer = RunWriter.resume(path, checkpoint)
    mfpde.solve(both, start, resume_from=checkpoint, observer=writer, **given)
    mfpde.save(whole, tmp_path / "saved.zarr")
    for stored in (mfpde.load(path), mfpde.load(tmp_path / "saved.zarr")):
        assert np.array_equal(stored.times, whole.times)
        assert stored.equation.terms == both.terms
        assert_same(stored.states, whole.states)


SETTINGS = """
geometry = {kind = "circle", cells = 64}
attention = {beta = 2.0, positions = {kind = "causal", alibi = 1.0, rope = 0.5}}
equation = {direction = "ascent"}
rows = {positions = 4}
solve = {t_end = 1.0, save_every = 0.25}
start = [{kind = "bumps", angles = [1.0], widths = [0.5]}, {kind = "uniform"}]
"""


def test_rows_by_settings(tmp_path, monkeypatch, capsys) -> None:
    """Blocks, a mask with RoPE: run, resumed where it was stopped, shown and drawn."""
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(SETTINGS)
    settings = mfpde.settings.read_settings("run.toml")
    assert settings.dynamics.terms[0].positions == mfpde.Causal(alibi=1.0, rope=0.5)
    block, flat = (one.values for one in map(settings.start.row, (1, 2)))
    assert np.allclose(settings.start.values, [block, block, flat, flat])
    blended = mfpde.settings.read_settings("run.toml", ["rows.blend=true"]).start
    expected = np.outer([1, 0.75, 0.25, 0], block - flat) + flat
    assert np.allclose(blended.values, expected)
    assert main(["run", "run.toml", "--out", "whole.zarr"]) == 0
    stopped = ["run", "run.toml", "--out", "part.zarr", "--set", "solve.max_steps=3"]
    assert main([*stopped, "--quiet"]) == 0
    while mfpde.load("part.zarr").stop.kind != "t_end":
        assert main(["resume", "part.zarr", "--quiet"]) == 0
    final, resumed = (mfpde.load(p).final.values for p in ("whole.zarr", "part.zarr"))
    assert np.array_equal(final, resumed)
    assert main(["show", "part.zarr"]) == main(["plot", "part.zarr"]) == 0
    assert "causal, RoPE 0.5, ALiBi 1" in capsys.readouterr().out
    begun = (
        SETTINGS.partition("start =")[0] + 'start = {kind = "run", path = "part.zarr"}'
    )
    Path("run.toml").write_text(begun.replace("rows = {positions = 4}", ""))
    again = mfpde.settings.read_settings("run.toml").start
    assert np.array_equal(again.values, final)


def test_rows_at_positions() -> None:
    rows = turning(CIRCLE, 5)
    assert np.array_equal(rows.at(0.5).values, rows.row(2).values)
    between = (rows.row(1).values + rows.row(2).values) / 2
    assert np.allclose(rows.at(0.4).values, between, rtol=1e-14)
    assert np.array_equal(rows.at(0.0).values, rows.row(0).values)
    assert rows.mean().total_mass == pytest.approx(1, abs=1e-14)
    first = rows.moments(1)[:, 1]
    assert np.allclose(first, 0.25 * np.exp(-3j * rows.middles), atol=1e-15)


def run_for_long(equation, start=None, **options):
    start = turning(CIRCLE) if start is None else start
    return mfpde.solve(equation, start, t_end=1e6, **options)


def move(start, positions_of_terms=None, **options):
    seen = positions_of_terms or mfpde.Causal()
    return mfpde.solve_particles(equation(seen), start, t_end=0.1, **options)


VALUES = np.full((3, 128), 1 / (2 * np.pi))
MASKED, PAIR = equation(mfpde.Causal(alibi=1.0)), mfpde.Atoms([[1.0, 0.0], [0.6, 0.8]])
TOKENS = mfpde.PositionedAtoms(PAIR.points, positions=[0.5, 1])
SHORT = mfpde.solve(MASKED, turning(CIRCLE), t_end=0.1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mfpde.PositionedDensity(mfpde.Zonal(8, 32), VALUES), "Circle or a Sphere"),
        (lambda: mfpde.PositionedDensity(CIRCLE, VALUES[0]), "a row for each"),
        (lambda: mfpde.PositionedDensity(CIRCLE, 2 * VALUES), "has mass 2; each row"),
        (lambda: mfpde.PositionedDensity(CIRCLE, -VALUES), "must not be negative"),
        (lambda: mfpde.PositionedDensity(CIRCLE, VALUES, [0, 0.5, 1]), "for 3 rows"),
        (lambda: mfpde.PositionedDensity(CIRCLE, VALUES, [0, 0.5, 0.4, 1]), "rise from"),
        (lambda: mfpde.PositionedDensity(CIRCLE, VALUES, [0.1, 0.5, 0.6, 1]), "rise from"),
        (lambda: mfpde.Weights([[1, 0.1], [0, 1]]), "must have the sum 1"),
        (lambda: mfpde.Weights([[1, 0]]), "must be \\(P, P\\)"),
        (lambda: mfpde.Weights([[2, -1], [0, 1]]), "must not be negative"),
        (lambda: mfpde.Causal(alibi="strong"), "alibi"),
        (lambda: mfpde.Full(rope="strong"), "rope"),
        (lambda: run_for_long(equation(mfpde.Full(rope=1.0)), turning(SPHERE)), "on a Circle"),
        (lambda: run_for_long(equation(mfpde.Full(rope=1.0), bilinear=np.eye(2))), "no matrices"),
        (lambda: mfpde.Attention(1.0, positions="causal"), "positions = 'causal'"),
        (lambda: run_for_long(equation(mfpde.Causal()), bump(CIRCLE)), "repeated"),
        (lambda: run_for_long(equation(mfpde.Weights(np.eye(2)))), "8 rows"),
        (lambda: run_for_long(equation(), atoms="exact"), "atoms = 'exact'"),
        (lambda: run_for_long(equation(), transport="labels"), "transport"),
        (lambda: turning(CIRCLE).row(8), "index"),
        (lambda: run_for_long(equation(mfpde.Causal(sees_itself=False))), "sees_itself = False"),
        (lambda: mfpde.Causal(sees_itself=1), "sees_itself = 1"),
        (lambda: run_for_long(equation(), track=mfpde.Concentration()), "are those one by one"),
        (lambda: SHORT.tracked(), "each of which is a run.rows"),
        (lambda: SHORT.rows(8), "index = 8"),
        (lambda: SHORT.rows(0).rows(0), "has no rows"),
        (lambda: mfpde.plot_concentration(SHORT.final, MASKED), "rows are those one by one"),
        (lambda: run_for_long(MASKED, SHORT.rows(0).final), "is for rows of positions"),
        (lambda: mfpde.minimize(MASKED, CIRCLE), "is for rows of positions"),
        (lambda: mfpde.certificate(MASKED, SHORT.final[0]), "is for rows of positions"),
        (lambda: mfpde.polish(MASKED, PAIR), "is for rows of positions"),
        (lambda: mfpde.continuation(MASKED, PAIR, "beta", [3.0, 4.0]), "is for rows of positions"),
        (lambda: mfpde.wasserstein(SHORT.final, PAIR), "rows are those one by one"),
        (lambda: move(PAIR), "is for rows of positions"),
        (lambda: move(SHORT.final[0], positions=[0.5, 1]), "positions are those of atoms"),
        (lambda: move(PAIR, positions=[0.5]), "one for each atom"),
        (lambda: move(PAIR, positions=[0.5, 0.5]), "positions\\[1\\] = 0.5 must rise"),
        (lambda: move(PAIR, positions=[0.5, 1], merge_below=1e-6), "is for rows of positions"),
        (lambda: move(turning(SPHERE), method="spectral"), "with positions"),
        (lambda: move(PAIR, mfpde.Weights(np.eye(3)), positions=[0.5, 1]), "there are 2 rows"),
        (lambda: move(PAIR, mfpde.Causal(rope=1.0), positions=[0.5, 1]), "rope = 1 turns rows"),
        (lambda: TOKENS.rows(), "edges = None"),
        (lambda: TOKENS.rows([0, 0.1, 1]), "no token is in \\(0, 0.1\\]"),
        (lambda: MASKED.velocity(TOKENS, PAIR.points[:1]), "points: tokens"),
        (lambda: equation(mfpde.Causal(rope=1.0)).velocity(SHORT.final[0]), "rope"),
        (lambda: turning(CIRCLE).at(1.5), "position"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(make, words) -> None:
    with pytest.raises(ValueError, match=words):
        make()
