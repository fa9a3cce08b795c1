"""Normalisations: exact spirals, radii on grids against tokens one by one, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from random_points import bump, random_points

import mfpde
from mfpde import theory

BETA, RADIUS, CIRCLE = 3.0, 0.5, mfpde.Circle(64)
NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.05, -0.03], "tanh")
NAMES = pytest.mark.parametrize("name", ["pre", "peri", "ngpt"])
SOFTMAX = pytest.mark.parametrize("softmax", [False, True])
GRIDS = pytest.mark.parametrize("grid", [CIRCLE, mfpde.Sphere(32)], ids=["S1", "S2"])
ACCURACY = {"rtol": 1e-12, "atol": 1e-14}


def equation(name, *terms, direction="ascent", softmax=False, beta=BETA, radius=RADIUS):
    options = {"radius": radius} if name in ("pre", "peri") else {}
    scaled = mfpde.Normalization(name, **options)
    terms = mfpde.Attention(beta, softmax), *terms
    return mfpde.MeanFieldEquation(*terms, direction=direction, normalization=scaled)


def varying(points):
    return 0.5 + 0.1 * points[..., 0]


def means(run):
    """Means of some harmonics, and of R times them, at the end."""
    final, radii = run.final, run.radii[-1].ravel()
    density = None if isinstance(final, mfpde.Atoms) else final.density
    points = density.geometry.points if density else final.points
    masses = density.masses.ravel() if density else final.masses
    x, y, z = points.reshape(len(masses), -1).T[[0, 1, -1]]
    harmonics = np.stack([x**0, x, y, x * y, x**2, z**3, x * z**2])
    return harmonics @ np.stack([masses, masses * radii], axis=1)


@SOFTMAX
@NAMES
def test_circle_against_tokens(name, softmax) -> None:
    """Order 4 or better; radii are within those of the tokens."""
    of, errors = equation(name, NEURONS, softmax=softmax, radius=varying), []
    start = bump(mfpde.Circle(256))
    tokens = mfpde.solve_particles(of, start, t_end=1, method="labels", **ACCURACY)
    for cells in (64, 128):
        run = mfpde.solve(of, bump(mfpde.Circle(cells)), t_end=1, save_at=[1])
        errors.append(np.abs(means(run) - means(tokens)).max())
        assert tokens.radii[-1].min() - 1e-3 < run.radii.min()
        assert run.radii.max() < tokens.radii[-1].max() + 1e-3
    assert errors[1] < max(errors[0] / 16, 2e-7) < 2e-5


@pytest.mark.parametrize("name", ["peri", "ngpt"])
def test_sphere_against_tokens(name) -> None:
    of, start = equation(name, softmax=True), bump(mfpde.Sphere(32))
    options = {"method": "labels", "rtol": 1e-8, "atol": 1e-10}
    tokens = mfpde.solve_particles(of, start, t_end=0.4, **options)
    run = mfpde.solve(of, start, t_end=0.4, save_every=0.2, rtol=1e-7)
    np.testing.assert_allclose(means(run), means(tokens), atol=1e-6)
    assert run.diagnostics["mean_radius"][-1] == pytest.approx(means(run)[0, 1])


@pytest.mark.parametrize(
    ("options", "speed"),
    [
        ({"name": "pre", "radius": RADIUS}, 1.0),
        ({"name": "peri", "radius": RADIUS}, np.sqrt(0.5)),
        ({"name": "ngpt", "alpha": 2.0}, np.sqrt(2.0)),
    ],
    ids=lambda given: given["name"] if isinstance(given, dict) else "",
)
def test_a_token_of_a_head_spirals(options, speed) -> None:
    """Alone, m = V theta, V = 1 + J: R = r0 + c t at the angle log(R / r0); of nGPT c t."""
    value = np.eye(5)
    value[1, 0], value[0, 1] = 1.0, -1.0
    head = mfpde.Attention(1.0, True, bilinear=np.eye(5), value=value)
    scaled = mfpde.Normalization(**options)
    of = mfpde.MeanFieldEquation(head, direction="ascent", normalization=scaled)
    run = mfpde.solve_particles(of, mfpde.Atoms(np.eye(1, 5)), t_end=1.0, **ACCURACY)
    radius = RADIUS + speed if "radius" in options else 1.0
    angle = np.log(radius / RADIUS) if "radius" in options else speed
    expected = [np.cos(angle), np.sin(angle), 0, 0, 0]
    np.testing.assert_allclose(run.final.points[0], expected, atol=1e-10)
    assert run.radii[-1] == pytest.approx([radius], rel=1e-10)


@GRIDS
@pytest.mark.parametrize("name", ["pre", "peri"])
def test_descent_ends_at_the_origin(name, grid) -> None:
    """About uniform R = r0 - c t of pre, r0 - t of peri, of densities and of tokens."""
    of, d = equation(name, direction="descent"), grid.dimension
    end = RADIUS / (theory.eigenvalues(BETA, d, [1])[0] if name == "pre" else 1.0)
    runs = [mfpde.solve(of, mfpde.uniform(grid), t_end=10.0)]
    if d == 2:
        start = mfpde.quantized(mfpde.uniform(grid), 64)
        runs.append(mfpde.solve_particles(of, start, t_end=10.0))
    for run in runs:
        assert run.stop.kind == "vanished"
        assert run.final_time == pytest.approx(end, rel=1e-4)


def test_post_is_the_equation_itself() -> None:
    plain = mfpde.MeanFieldEquation(mfpde.Attention(BETA), direction="ascent")
    runs = [
        mfpde.solve(of, bump(CIRCLE), t_end=1.0) for of in (plain, equation("post"))
    ]
    assert np.array_equal(*[run.final.density.values for run in runs])
    assert runs[1].radii.size == 0


@GRIDS
@pytest.mark.parametrize("name", ["peri", "ngpt"])
def test_what_has_no_update_rests(name, grid) -> None:
    """m = int y dmu = 0, up to rounding, has no direction."""
    run = mfpde.solve(equation(name, beta=0.0), mfpde.uniform(grid), t_end=1.0)
    np.testing.assert_allclose(run.final.density.values, run.states[0].density.values)
    np.testing.assert_allclose(run.radii[-1], run.radii[0], rtol=1e-12)
    assert run.equation.energy(run.final) is None


@pytest.mark.parametrize("grid", [None, *GRIDS.args[1]], ids=["5", "S1", "S2"])
@pytest.mark.parametrize("radius", [None, RADIUS], ids=["goes on", "anew"])
def test_layers_go_on_with_radii_or_start_anew(radius, grid) -> None:
    """As one run of the whole time, or one of half the time from what is left of R = r0."""
    of, second = (equation("pre", softmax=True, radius=r) for r in (RADIUS, radius))
    start, solve, options = grid and bump(grid), mfpde.solve, {"rtol": 1e-7}
    if grid is None:
        start = mfpde.Atoms(random_points(20, 5))
        solve, options = mfpde.solve_particles, ACCURACY
    layers = mfpde.Layers([(of, 0.5), (second, 0.5)])
    run = solve(layers, start, save_at=[0.5, 1.0], **options)
    if radius is None:
        expected = solve(of, start, t_end=1.0, **options)
    else:
        expected = solve(of, run.states[0], t_end=0.5, **options)
    np.testing.assert_allclose(means(run), means(expected), atol=1e-7)
    np.testing.assert_allclose(run.radii[-1], expected.radii[-1], atol=1e-6)
    if grid is None:
        steps = solve(layers, start, time_step=1 / 32)
        np.testing.assert_allclose(means(steps), means(expected), atol=1e-6)


def test_layers_of_other_normalizations() -> None:
    for other in (equation("pre", radius=0.6), equation("post"), equation("peri")):
        with pytest.raises(ValueError, match=r"layers\[1\] has the normalization"):
            mfpde.Layers([(equation("pre"), 1.0), (other, 1.0)])


def test_fixed_steps_carry_tokens_past_the_origin() -> None:
    """Alone, m = -V theta, V = 1 + J / 100: near R = 0 the token turns by pi and R grows."""
    value = np.eye(2) + 0.01 * np.array([[0.0, -1.0], [1.0, 0.0]])
    head = mfpde.Attention(1.0, True, bilinear=np.eye(2), value=value)
    scaled = {"normalization": mfpde.Normalization("pre", radius=RADIUS)}
    of = mfpde.MeanFieldEquation(head, direction="descent", **scaled)
    start = mfpde.Atoms(np.eye(1, 2))
    run = mfpde.solve_particles(of, start, t_end=1.0, time_step=0.16)
    assert run.stop.kind == "t_end"
    assert mfpde.solve_particles(of, start, t_end=1.0).stop.kind == "vanished"
