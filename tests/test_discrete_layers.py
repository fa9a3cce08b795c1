"""Discrete layers: growth about uniform, push-forwards, folds, the limit of small steps."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent
from random_points import bump

import mfpde
from mfpde import theory

CIRCLE, SPHERE = mfpde.Circle(256), mfpde.Sphere(32)
NEURONS = mfpde.Perceptron([[1.0, 0.3], [-0.4, 0.8]], [0.8, -0.5], "tanh")
PLAIN, SOFTMAX = mfpde.Attention(3.0), mfpde.Attention(3.0, normalized=True)
FOLDING = {"step": 1.0, "count": 2, "direction": "descent"}
# The uniform density is meant.
pytestmark = pytest.mark.filterwarnings("ignore:start and equation share")


def layers(*terms, step=0.2, count=5, direction="ascent") -> mfpde.DiscreteLayers:
    blocks = [mfpde.Block(term, step=step, direction=direction) for term in terms]
    return mfpde.DiscreteLayers.repeated(blocks, count=count)


def distance(*measures) -> float:
    """Of the Fourier moments 1 to 6 of atoms, or of values at centres."""
    moments = []
    for measure in measures:
        found = getattr(measure, "density", measure)
        points = getattr(found, "geometry", found).points
        waves = np.power.outer(points @ [1, -1j], np.arange(1, 7))
        moments.append(found.masses @ waves)
    return float(np.abs(np.diff(moments, axis=0)).max())


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("geometry", [mfpde.Circle(512), SPHERE], ids=["S1", "S2"])
def test_modes_about_uniform_grow_as_known(geometry, normalized, direction) -> None:
    """By 1 + s step g_l / (1 + s step c) a layer: g_l of ascent, c = lambda_1 (over lambda_0).

    Differences of fourth order: modes beget others, by 7e-10 at 1e-4.
    """
    d, degrees, step = geometry.dimension, [1, 2, 3], 0.3
    attention = mfpde.Attention(2.0, normalized=normalized)
    network = layers(attention, step=step, count=3, direction=direction)
    step *= 1 if direction == "ascent" else -1
    options = {"normalized": normalized, "direction": "ascent"}
    rates = theory.growth_rates(2.0, d, degrees, **options)
    zeroth, first = theory.eigenvalues(2.0, d, [0, 1])
    growths = 1 + step * rates / (1 + step * (first / zeroth if normalized else first))
    kind = np.polynomial.Chebyshev if d == 2 else np.polynomial.Legendre
    for mode, growth in zip(map(kind.basis, degrees), growths, strict=True):
        heights, found = mode(geometry.points[..., -1]), 0.0
        squares = (heights**2 * geometry.areas / geometry.areas.sum()).sum()
        for size, weight in {2e-3: -1, -2e-3: 1, 1e-3: 8, -1e-3: -8}.items():
            start = mfpde.Density(geometry, 1 + size * heights).normalized()
            final = mfpde.solve(network, start).final.density
            places, masses = final.labels or (geometry.points, final.masses)
            found += weight * (masses @ mode(places[:, -1])) / (12 * 1e-3 * squares)
        assert found == pytest.approx(growth**3, rel=1e-10)


@pytest.mark.parametrize(
    ("terms", "options", "errors"),
    [
        ([PLAIN], {"count": 10}, [1.5e-4, 4e-6, 5e-8]),
        ([SOFTMAX, NEURONS], {}, [1e-3, 4e-6, 1.5e-8]),
        ([mfpde.Attention(5.0, normalized=True)], FOLDING, [6e-3, 6e-4, 8e-5]),
    ],
    ids=["plain", "softmax and neurons", "folds"],
)
def test_the_push_forward_on_the_circle(terms, options, errors) -> None:
    """Against sums over labels; mass is kept to rounding and positive, over folds too."""
    network = layers(*terms, **options)
    labels = mfpde.solve_particles(network, bump(CIRCLE), method="labels", count=1024)
    for cells, error in zip([64, 256, 1024], errors, strict=True):
        run = mfpde.solve(network, bump(mfpde.Circle(cells)))
        assert distance(run.final, labels.final) < error
        assert run.mass_drift < 2e-15
        assert run.diagnostics["minimum"].min() > 0
        assert (run.statistics["folded_cells"] > 0) == (options is FOLDING)


@pytest.mark.parametrize(("attention", "first"), [(PLAIN, 8.8e-4), (SOFTMAX, 1.4e-2)])
def test_small_steps_are_the_flow(attention, first) -> None:
    """At the time of the steps of all layers; of order 1."""
    start = bump(mfpde.Circle(512))
    flow = mfpde.solve(ascent(attention), start, t_end=1.0, rtol=1e-8).final
    networks = [layers(attention, step=1 / n, count=n) for n in (10, 20, 40, 80)]
    errors = [distance(mfpde.solve(one, start).final, flow) for one in networks]
    assert errors[0] < first
    assert np.allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 1, atol=0.1)


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("normalized", [False, True])
def test_a_layer_of_a_transformer(dimension, normalized) -> None:
    """A head in descent, in dimension 5 behind a mask, then a perceptron, by their formulas."""
    rng = np.random.default_rng(1)
    d, v, vectors, x = rng.standard_normal((4, dimension, dimension)) / 2
    d, x = d + np.eye(dimension), x / np.linalg.norm(x, axis=1, keepdims=True)
    mask = mfpde.Causal() if dimension == 5 else None
    head = mfpde.Attention(2.0, normalized, bilinear=d, value=v, positions=mask)
    mlp = mfpde.Perceptron(d, vectors, np.tanh, output_bias=v[0])
    first, second = mfpde.Block(head, 0.3, direction="descent"), mfpde.Block(mlp, 0.4)

    def attend(x, y, masses):
        weights = np.exp(2 * (x @ d @ y.T - np.linalg.norm(d, 2))) * masses
        if mask is not None:
            weights = np.tril(weights) / np.cumsum(masses)[:, None]
        weights /= weights.sum(axis=1, keepdims=True) if normalized else 1.0
        z = x - 0.3 * weights @ y @ v.T
        return z / np.linalg.norm(z, axis=1, keepdims=True)

    start = mfpde.Atoms(x, rng.dirichlet(np.ones(dimension)))
    z = attend(x, x, start.masses)
    z += 0.4 * (np.tanh(z @ d.T) @ vectors + v[0])
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    network = mfpde.DiscreteLayers([(first, second)])
    places = None if mask is None else np.arange(1, dimension + 1) / dimension
    final = mfpde.solve_particles(network, start, positions=places).final
    assert np.abs(final.points - z).max() < 1e-14
    if dimension < 5:
        density = bump([CIRCLE, SPHERE][dimension - 2])
        cells = density.geometry.points.reshape(-1, dimension)
        images = attend(x, cells, density.masses.ravel())
        assert np.abs(first.image(density, x) - images).max() < 1e-14


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE], ids=["S1", "S2"])
def test_particles_beside_densities(geometry) -> None:
    """Saves after each layer, energies, verdicts and tracks: a run is like any other."""
    network = layers(mfpde.Attention(4.0), step=0.5, count=25)
    run = mfpde.solve(network, bump(geometry), track=mfpde.Concentration())
    particles = mfpde.solve_particles(network, mfpde.quantized(bump(geometry), 1000))
    assert run.times.tolist() == particles.times.tolist() == list(range(26))
    apart = mfpde.wasserstein(run.final, particles.final, order=1)
    assert apart < [2e-3, 0.05][geometry.dimension - 2]
    assert (np.diff(run.energies) > 0).all()
    assert len(run.track.paths) == 4 - geometry.dimension


@pytest.mark.parametrize("solver", [mfpde.solve, mfpde.solve_particles])
def test_a_token_without_direction_ends_a_run(solver) -> None:
    """x - step x = 0 at step 1, where the neuron returns x."""
    back = mfpde.Perceptron([[1.0, 0.0]], [1.0], "linear")
    blocks = [mfpde.Block(back, step, direction="descent") for step in (0.5, 1.0)]
    start = bump(CIRCLE) if solver is mfpde.solve else mfpde.Atoms([[1.0, 0.0]], [1.0])
    run = solver(mfpde.DiscreteLayers(blocks), start)
    assert (run.stop.kind, run.times.tolist()) == ("vanished", [0.0, 1.0])


@pytest.mark.parametrize("times", [{"t_end": 1.5}, {"save_at": [0, 0.5]}])
def test_times_within_a_layer_are_refused_before_any_work(times) -> None:
    def fail(measure) -> float:
        raise AssertionError("a run began")

    with pytest.raises(ValueError, match="is within a layer"):
        mfpde.solve(layers(PLAIN), bump(CIRCLE), observe={"x": fail}, **times)
