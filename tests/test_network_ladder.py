"""Networks as mean-field equations: folding, limits of refinement, and what a ladder says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mfpde
from validation.verdict_shapes import unit

CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["plain", "causal"])
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
ROWS, COLUMNS = ("o", "w2", "bo", "b2"), ("q", "k", "v", "w1")
GAINS = "gain1", "bias1", "gain2", "bias2"


def block(seed, d, *, heads=2, scale=1.0, **others) -> mfpde.NetworkBlock:
    """Weights at random, of heads of width 4 that share keys, with biases and gains."""
    rng = np.random.default_rng(seed)
    rows, units = 4 * heads, 2 * d

    def draw(*shape):
        return scale * rng.standard_normal(shape) / np.sqrt(shape[-1])

    weights = draw(rows, d), draw(4, d), draw(4, d), draw(d, rows), draw(units, d)
    sizes = {"bq": rows, "bk": 4, "bv": 4, "bo": d, "b1": units, "b2": d}
    given = {name: 0.5 * rng.standard_normal(n) for name, n in sizes.items()}
    for name in GAINS:
        given[name] = name.startswith("gain") + 0.2 * rng.standard_normal(d)
    given |= {"heads": heads, "kv_heads": 1, "eps": 0.0} | others
    return mfpde.NetworkBlock(*weights, draw(d, units), **given)


def network(norm, d, layers=2, **others) -> mfpde.Network:
    blocks = [block(seed, d, **others) for seed in range(layers)]
    return mfpde.Network(blocks, norm)


def tokens(count, d, *, seed=7):
    """Random tokens as a LayerNorm without gain makes them."""
    drawn = np.random.default_rng(seed).standard_normal((count, d))
    return np.sqrt(d) * unit(drawn - drawn.mean(axis=1, keepdims=True))


def flow(net, given, order="parallel", time="free radius", **options):
    """Points (layers + 1, N, d) of tokens that flow."""
    trace = net.run(given)
    start, causal = mfpde.Atoms(trace.points[0] @ net.basis), net.blocks[0].causal
    layers = net.layers(order, time, radius=trace.radii[0], causal=causal)
    options = options or {"rtol": 1e-11, "atol": 1e-13}
    if causal:
        options["positions"] = np.arange(1, len(given) + 1) / len(given)
    saves = layers.breakpoints[:: len(layers) // len(net.blocks)]
    run = mfpde.solve_particles(layers, start, save_at=saves, **options)
    return np.stack([state.points for state in run.states]) @ net.basis.T


@NORMS
@pytest.mark.parametrize("d", [4, 7, 32])
@pytest.mark.parametrize("rms", [False, True], ids=["LayerNorm", "RMSNorm"])
def test_terms_are_the_sublayers(rms, d, norm) -> None:
    """u -> u + F(N(u)), in post-LN from |u| = 1 on, is the network, sublayer by sublayer.

    Its second block has queries of biases alone, and neurons without directions.
    """
    first, second = network(norm, d, rms=rms).blocks
    silent = replace(second, q=0 * second.q, w1=np.eye(2 * d, 1) * second.w1)
    net = mfpde.Network([first, silent], norm)
    trace = net.run(tokens(9, d))
    points, radii = trace.points[0] @ net.basis, trace.radii[0][:, np.newaxis]
    for index, equation in enumerate(net.layers("serial").equations):
        field = equation.without_normalization.field(mfpde.Atoms(points))
        u = (radii if norm == "pre" else 1.0) * points + field.updates(points)
        points, radii = unit(u), np.linalg.norm(u, axis=1, keepdims=True)
        if index % 2:
            exact = trace.points[(index + 1) // 2] @ net.basis
            np.testing.assert_allclose(points, exact, atol=1e-13)


@NORMS
def test_what_is_dropped(norm) -> None:
    """Without constants it is the network without biases; B y - z is the gains' drift."""
    net, given = network(norm, 6), tokens(5, 6)
    points = unit(given) @ net.basis
    bare = dict.fromkeys(("bq", "bk", "bv", "bo", "b1", "b2", "bias1", "bias2"))
    lean = mfpde.Network([replace(one, **bare) for one in net.blocks], norm)

    def updates(of, *drop):
        atoms = mfpde.Atoms(points)
        layers = of.layers(drop=drop)
        fields = [e.without_normalization.field(atoms) for e in layers.equations]
        return np.stack([field.updates(points) for field in fields])

    constants = "drift constants", "inner constants"
    np.testing.assert_allclose(updates(net, *constants), updates(lean), atol=1e-13)
    drift = updates(net) - updates(net, "gain")
    expected = np.zeros_like(drift)
    if norm == "post":
        before = [np.ones(6), *(one.gain2 for one in net.blocks)]
        for k, one in enumerate(net.blocks):
            gains = [before[k] / before[k].mean(), one.gain1 / one.gain1.mean()]
            rest = unit(given) * (sum(gains) - 2)
            expected[k] = (rest - rest.mean(axis=1, keepdims=True)) @ net.basis
    np.testing.assert_allclose(drift, expected, atol=1e-13)


@NORMS
def test_a_constant_sublayer_flows_where_it_steps(norm) -> None:
    """With a free radius; what sublayers add does not depend on tokens."""
    plain = dict.fromkeys(GAINS)
    blocks = [
        replace(one, o=0 * one.o, w2=0 * one.w2, **plain)
        for one in network(norm, 5).blocks
    ]
    net, given = mfpde.Network(blocks, norm), tokens(6, 5)
    exact = net.run(given).points
    np.testing.assert_allclose(flow(net, given, "serial"), exact, atol=1e-9)


@NORMS
def test_another_basis_of_the_hyperplane(norm) -> None:
    """Entries in another order are another basis in the same coordinates."""
    net, given = network(norm, 6), tokens(8, 6)
    order = np.random.default_rng(3).permutation(6)
    blocks = []
    for one in net.blocks:
        changed = {name: getattr(one, name)[order] for name in (*ROWS, *GAINS)}
        changed |= {name: getattr(one, name)[:, order] for name in COLUMNS}
        blocks.append(replace(one, **changed))
    other = flow(mfpde.Network(blocks, norm), given[:, order])
    np.testing.assert_allclose(other, flow(net, given)[..., order], atol=1e-9)


@NORMS
@CAUSAL
def test_refined_networks_become_the_flow(norm, causal) -> None:
    """At order 1: with x' = P F in post-LN, with the radii of tokens in pre-LN."""
    net = network(norm, 4, layers=1, scale=0.5, causal=causal)
    given = tokens(12, 4)
    time = {"post": "unit", "pre": "free radius"}[norm]
    limit = flow(net, given, time=time)[-1]
    ends = [net.refined(m).run(given).points[-1] for m in (4, 8, 16, 32)]
    errors = [np.linalg.norm(end - limit) for end in ends]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, atol=0.3)


def test_density_particles_and_refined_network() -> None:
    """LayerNorm of d = 4 on S^2: means of x and x x^T at the end, 2000 tokens."""
    net, grid = network("post", 4, layers=1, heads=1, scale=0.5), mfpde.Sphere(32)
    start = mfpde.bumps(grid, centres=[[0.6, 1.0], [2.0, 4.0]], widths=[0.5, 0.7])
    layers, atoms = net.layers(time="unit"), mfpde.quantized(start, 2000)
    given = 2 * atoms.points @ net.basis.T  # sqrt(d) x
    density = mfpde.solve(layers, start).final.density
    flown = mfpde.solve_particles(layers, atoms, time_step=1 / 16).final.points
    refined = net.refined(64).run(given).points[-1] @ net.basis

    def means(points, masses):
        squares = np.einsum("n,ni,nj->ij", masses, points, points)
        return np.vstack([masses @ points, squares])

    found = means(flown, atoms.masses)
    assert np.abs(found - means(atoms.points, atoms.masses)).max() > 0.1
    expected = means(grid.points.reshape(-1, 3), density.masses.ravel())
    np.testing.assert_allclose(found, expected, atol=2e-3)
    np.testing.assert_allclose(means(refined, atoms.masses), found, atol=5e-3)


def test_rows_that_start_equal_do_not_see_the_mask() -> None:
    """LayerNorm of d = 3 on S^1: densities at all positions go as without a mask."""
    start = mfpde.bumps(mfpde.Circle(128), angles=[1.0, 4.0], widths=[0.5, 0.7])
    plain, masked = (
        network("post", 3, layers=2, scale=0.5, causal=causal)
        for causal in (False, True)
    )
    expected = mfpde.solve(plain.layers(time="unit"), start, transport="donor_blended")
    rows = mfpde.PositionedDensity.repeated(start, 3)
    found = mfpde.solve(masked.layers(time="unit", causal=True), rows)
    assert np.abs(expected.final.density.values - start.values).max() > 0.1
    for row in found.final.values:
        np.testing.assert_allclose(row, expected.final.density.values, atol=1e-6)


@NORMS
@CAUSAL
def test_a_ladder_of_small_steps_and_of_large_ones(norm, causal) -> None:
    net, given = network(norm, 8, layers=3, causal=causal), tokens(24, 8)
    rungs = ["parallel discrete", "serial flow", "half of the keys"]
    ladder = net.ladder(given, rungs)
    assert list(ladder.rungs) == ["exact", *rungs[:2], "parallel flow", rungs[2]]
    others = "moved, unrelated tokens, no attention, no MLP"
    assert list(ladder.baselines) == others.split(", ")
    assert ladder.verdict == "neither"
    assert ladder.costliest in [*rungs, "parallel flow"]
    assert ladder.rungs["exact"].angle == pytest.approx(0, abs=1e-7)
    np.testing.assert_allclose(ladder.rungs["exact"].rand, 1.0)
    cosines = (flow(net, given) * net.run(given).points).sum(axis=-1)
    angles = np.arccos(cosines.clip(-1, 1)).mean(axis=1)
    np.testing.assert_allclose(ladder.rungs["parallel flow"].angle, angles, atol=1e-3)
    table = ladder.to_pandas()
    assert list(table) == ["kind", "name", "layer", *ladder.rungs["exact"]._fields]
    assert len(table) == 9 * 4
    first = f"parallel flow: neither; {ladder.costliest!r} costs most"
    assert str(ladder).startswith(first)
    assert net.scaled(0.02).ladder(given, rungs).verdict == "pointwise"


def test_the_rung_of_a_density() -> None:
    """As a sample of a density the flow of tokens is near it, beside what they move."""
    net, given = network("post", 4, scale=0.7), tokens(60, 4)
    ladder = net.ladder(given, ["density"])
    found, moved = ladder.rungs["density"], ladder.baselines["moved"]
    assert np.isnan(found.rand).all()
    assert found.angle.max() < 0.6 * moved.angle[-1]
