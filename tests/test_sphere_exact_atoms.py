"""Density with exact atoms on S^2: against references without a grid."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mfpde
from mfpde import Attention, Density, MeanFieldEquation, Potential, Sphere, solve
from mfpde.atoms.cells import Cells
from mfpde.measures.sampling import as_atoms
from validation.references import ring, two_bumps

POLE = np.array([0.0, 0.0, 1.0])
TILTED = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
OVER_THE_POLE = Rotation.from_euler("y", -np.pi / 2).as_matrix()
OBLIQUE = Rotation.from_euler("xyz", [0.4, 0.9, 0.3]).as_matrix()


def separation(measure):
    """Angle between two atoms; nan while there are none, 0 once they are one."""
    points = measure.atoms.points
    if len(points) == 2:
        return two_bumps.angle_between(points[0], points[1])
    return 0.0 if len(points) == 1 else np.nan


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        pytest.param("equal", np.eye(3), marks=pytest.mark.slow),
        ("equal", OBLIQUE),
        pytest.param("equal", OVER_THE_POLE, marks=pytest.mark.slow),
        ("tidal softmax", np.eye(3)),
        pytest.param("tidal softmax", OBLIQUE, marks=pytest.mark.slow),
        pytest.param("sharp", np.eye(3), marks=pytest.mark.slow),
        ("sharp softmax", OVER_THE_POLE),
    ],
)
def test_bumps_merge_in_time(name, turn):
    """The times at which the angle between the atoms falls below .5, .3 and .1.

    Neither atom is released, although the tide of the heavier one stretches the lighter one.
    """
    case = two_bumps.CASES[name]
    times = np.array(two_bumps.separation_times(case))
    equation = MeanFieldEquation(
        Attention(case.beta, normalized=case.softmax), direction="ascent"
    )
    start = Density.from_function(Sphere(64), two_bumps.start_density(case, turn))
    near = np.linspace(0.988, 1.012, 31)
    end = times[-1] * near[-1]
    saves = np.union1d(np.outer(times, near).ravel(), np.linspace(0, end, 60))
    observed = {"separation": separation}
    options = {"save_at": saves[saves <= end], "atoms": "exact", "observe": observed}
    run = solve(equation, start, t_end=end, **options)
    apart = run.diagnostics["separation"]
    # Of one atom alone, before the other has formed, the separation says nothing.
    known = np.isfinite(apart) & (np.cumsum(apart > 0) > 0)
    thresholds = np.array(two_bumps.THRESHOLDS)
    found = np.interp(-thresholds, -apart[known], run.times[known])
    np.testing.assert_allclose(found, times, rtol=5e-3)
    assert [event.kind for event in run.events[:2]] == ["birth", "birth"]
    assert "fission" not in {event.kind for event in run.events}
    assert run.mass_drift <= 1e-13
    if not case.softmax:
        assert np.diff(run.energies).min() >= -1e-13


def test_an_atom_opens_into_a_ring():
    """One neuron in descent: its rms radius on the way and at the end."""

    def radius(measure):
        clouds = mfpde.Measure(measure.density, measure.atoms.as_clouds())
        held = as_atoms(clouds)
        angles = np.arccos(np.clip(held.points @ TILTED, -1, 1))
        return float(np.sqrt(held.masses @ angles**2))

    sphere = Sphere(64)
    neuron = mfpde.Perceptron([TILTED], [ring.WEIGHT])
    equation = MeanFieldEquation(Attention(ring.BETA), neuron, direction="descent")
    width = ring.WIDTH**2 * (np.eye(3) - np.outer(TILTED, TILTED))
    start = mfpde.Measure(
        Density(sphere, np.zeros(sphere.shape)), mfpde.Atoms([TILTED], [1.0], [width])
    )
    options = {"save_at": ring.TIMES, "atoms": "exact", "observe": {"radius": radius}}
    run = solve(equation, start, t_end=ring.TIMES[-1], **options)
    radii = run.diagnostics["radius"]
    assert len(run.events) == 1
    np.testing.assert_allclose(radii, ring.rms_radii(*ring.opening()), rtol=0.15)
    assert radii[-1] == pytest.approx(ring.ring_angle(ring.BETA, ring.WEIGHT), rel=0.01)
    assert np.diff(run.energies).max() <= 1e-13


@pytest.mark.parametrize("axis", [POLE, TILTED])
@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_a_ring_is_no_atom(axis, direction):
    sphere = Sphere(64)

    def ring(points):
        away = (np.arccos(np.clip(points @ axis, -1, 1)) - 0.3) / sphere.spacing
        return np.exp(-0.5 * away**2)

    equation = MeanFieldEquation(Attention(8.0), direction=direction)
    start = Density.from_function(sphere, ring)
    run = solve(equation, start, t_end=20.0, save_at=[20.0], atoms="exact")
    births = [event for event in run.events if event.kind == "birth"]
    assert len(births) == (1 if direction == "ascent" else 0)
    for event in births:
        assert np.linalg.norm(event.points[0] - axis) <= sphere.spacing


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_thin_ring_closes_at_its_centre_at_any_angle_to_the_grid(seed):
    """A ring of a cell's width stays one: nothing but the grid could break it.

    It is unstable: what the grid favours in one place would grow to an atom there.
    """
    sphere, axis = Sphere(96), TILTED
    if seed is not None:
        axis = Rotation.random(random_state=seed).apply([0.0, 0.0, 1.0])

    def ring(points):
        away = (np.arccos(np.clip(points @ axis, -1, 1)) - 0.5) / sphere.spacing
        return np.exp(-0.5 * away**2)

    equation = MeanFieldEquation(Attention(50.0), direction="ascent")
    start = Density.from_function(sphere, ring)
    run = solve(equation, start, t_end=90.0, save_at=[90.0], atoms="exact")
    (birth,) = run.events
    assert birth.kind == "birth"
    assert np.linalg.norm(birth.points[0] - axis) <= 0.1 * sphere.spacing
    assert run.mass_drift <= 1e-13


@pytest.mark.parametrize("cells", [0.0, 0.3, 1.0])
def test_an_atom_forms_at_the_top_beside_the_pole(cells):
    sphere = Sphere(64)
    angle = cells * sphere.spacing
    top = np.array([np.sin(angle) * 0.6, np.sin(angle) * 0.8, np.cos(angle)])
    equation = MeanFieldEquation(
        Attention(8.0),
        Potential(
            lambda x: 0.5 * (x @ top),
            lambda x: 0.5 * (top - (x @ top)[..., np.newaxis] * x),
        ),
        direction="ascent",
    )
    start = Density.from_function(sphere, lambda x: np.exp(2 * x[..., 0]))
    run = solve(equation, start, t_end=60.0, save_at=[60.0], atoms="exact")
    (atom,) = run.final.atoms.points
    assert np.linalg.norm(atom - top) <= 0.01 * sphere.spacing


@pytest.mark.parametrize("narrow", [0.0, 0.13, 0.5])
def test_a_released_atom_has_its_mass_and_place_however_narrow(narrow):
    """Rounding along the radius, here 1.5e-15 of the largest eigenvalue, must not count."""
    sphere = Sphere(32)
    cells = Cells(sphere, np.zeros(sphere.areas.size), velocity_at=None)
    spacing = sphere.spacing
    generator = np.random.default_rng(5)
    for _ in range(20):
        turn = Rotation.random(rng=generator).as_matrix()
        axes = turn * np.array([narrow, 1.95, 0.0]) * spacing
        place, rounding = turn[:, 2].copy(), 6e-15 * spacing**2
        atom = 0.12, place, axes @ axes.T + rounding * np.outer(place, place)
        masses = cells.as_gaussian(atom, (0.3 * spacing) ** 2, 12 * spacing)
        assert masses.min() >= 0
        assert masses.sum() == pytest.approx(0.12, rel=1e-12)
        mean = masses @ cells.points
        assert np.linalg.norm(mean / np.linalg.norm(mean) - turn[:, 2]) <= spacing / 2
