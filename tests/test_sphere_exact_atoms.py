"""Density with exact atoms on S^2: against references without a grid."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mfpde import Attention, Density, MeanFieldEquation, Potential, Sphere, solve
from mfpde.atoms.cells import Cells
from validation import exact_atoms_sphere as validation
from validation.references import two_bumps


@pytest.mark.parametrize(
    ("name", "orientation"),
    [
        ("equal", "equator"),
        ("equal", "oblique"),
        ("equal", "over the pole"),
        ("tidal softmax", "equator"),
        ("tidal softmax", "oblique"),
        ("sharp", "equator"),
        ("sharp softmax", "over the pole"),
    ],
)
def test_bumps_merge_in_time(name, orientation):
    times = np.array(two_bumps.separation_times(two_bumps.CASES[name]))
    case = two_bumps.CASES[name]
    rotation = validation.orientations(case.distance)[orientation]
    errors, run = validation.merging(name, 64, rotation, times=times)
    assert np.abs(errors).max() <= 5e-3
    assert [event.kind for event in run.events[:2]] == ["birth", "birth"]
    assert "fission" not in {event.kind for event in run.events}
    assert run.mass_drift <= 1e-13
    if not case.softmax:
        assert np.diff(run.energies).min() >= -1e-13


def test_an_atom_opens_into_a_ring():
    found = validation.opening()
    assert found["opening_releases"] == 1
    assert found["opening_transit"] <= 0.15
    assert found["opening_end"] <= 0.01
    assert found["opening_energy_rise"] <= 1e-13


@pytest.mark.parametrize("axis", [validation.POLE, validation.TILTED])
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
    sphere, axis = Sphere(96), validation.TILTED
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
