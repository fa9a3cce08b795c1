"""The sphere as a geometry: areas, moments, gradients, heat flow, interpolation."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import sph_harm_y

from mfpde import Atoms, Attention, Circle, Density, MeanFieldEquation, Sphere, uniform

GRID = Sphere(64)
DEGREE = 30


def random_atoms(count, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((count, 3))
    points[0] = [0, 0, 1]
    points[1] = [1e-5, -2e-6, -1]
    return Atoms(
        points / np.linalg.norm(points, axis=1, keepdims=True), rng.random(count) + 0.1
    )


def smooth_density(sphere):
    return Density.from_function(
        sphere, lambda x: np.exp(3 * x[..., 0]) + x[..., 2] ** 2 + x[..., 1] + 2
    )


@pytest.mark.parametrize(
    "sphere", [Sphere(32), Sphere(96), Sphere(50), Sphere(64, 160)], ids=repr
)
def test_cells_cover_the_sphere_and_contain_their_centres(sphere):
    assert sphere.areas.sum() == pytest.approx(4 * np.pi, rel=1e-14)
    np.testing.assert_allclose(np.linalg.norm(sphere.points, axis=-1), 1, rtol=1e-15)
    faces = sphere.rings.face_colatitudes
    assert (faces[:-1] < sphere.colatitudes).all()
    assert (sphere.colatitudes < faces[1:]).all()
    heights = 2 * np.pi * -np.diff(np.cos(faces))
    np.testing.assert_allclose(heights, sphere.areas.sum(axis=1), atol=1e-13)
    assert (sphere.nlon % sphere.rings.group_sizes == 0).all()
    frame = np.stack([*sphere.tangents, sphere.points])
    gram = np.einsum("a...i,b...i->...ab", frame, frame)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-14)


@pytest.mark.parametrize("nlat", [32, 128, 512])
def test_weights_are_those_of_gauss_also_near_the_poles(nlat):
    """Exact for ((1 + z) / 2)^(2 nlat - 1), most of which lies on the first rings."""
    rings = Sphere(nlat).rings
    degree = 2 * nlat - 1
    values = np.cos(rings.colatitudes / 2) ** (2 * degree)
    assert rings.weights @ values == pytest.approx(2 / (degree + 1), rel=1e-13)


def test_moments_of_atoms_are_sums_of_conjugate_harmonics():
    atoms = random_atoms(8)
    x, y, z = atoms.points.T
    theta, phi = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
    moments = GRID.atom_moments(atoms.points, atoms.masses, DEGREE)
    orders = np.concatenate([np.full(DEGREE + 1 - m, m) for m in range(DEGREE + 1)])
    for l, m, moment in zip(GRID.degrees(DEGREE), orders, moments, strict=True):
        harmonics = np.sqrt(4 * np.pi) * sph_harm_y(l, m, theta, phi)
        assert moment == pytest.approx(atoms.masses @ harmonics.conj(), abs=1e-11)


def test_fields_at_points_are_those_on_the_grid():
    atoms = random_atoms(5)
    moments = GRID.atom_moments(atoms.points, atoms.masses, DEGREE)
    values = GRID.synthesis(moments)
    scale = np.abs(values).max()
    np.testing.assert_allclose(
        GRID.field_at(moments, GRID.points).values, values, atol=1e-13 * scale
    )
    gradient = np.einsum("a...,a...i->...i", GRID.gradient(moments), GRID.tangents)
    np.testing.assert_allclose(
        GRID.field_at(moments, GRID.points).gradients,
        gradient,
        atol=1e-12 * np.abs(gradient).max(),
    )


@pytest.mark.parametrize("grid", [GRID, Circle(64)], ids=repr)
@pytest.mark.parametrize("degree", [0, 1, 2, 5, 9])
def test_points_are_evaluated_one_by_one_whatever_their_number(grid, degree):
    rng = np.random.default_rng(degree)
    points = rng.standard_normal((19, grid.dimension))
    points[0] = np.eye(grid.dimension)[-1]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = rng.random(19)
    moments = grid.atom_moments(points, masses, degree)
    alone = [grid.atom_moments(points[[k]], masses[[k]], degree) for k in range(19)]
    np.testing.assert_allclose(moments, sum(alone), atol=1e-13 * degree + 1e-14)
    values, gradients = grid.field_at(moments, points)
    for count in (0, 1, 7, 8, 9, 16):
        some = grid.field_at(moments, points[:count])
        np.testing.assert_array_equal(some[0], values[:count])
        np.testing.assert_array_equal(some[1], gradients[:count])


def test_gradient_is_the_slope_along_great_circles_at_the_poles_too():
    atoms = random_atoms(10, seed=3)
    moments = GRID.atom_moments(atoms.points, atoms.masses, 12)
    rng = np.random.default_rng(1)
    heading = rng.standard_normal(atoms.points.shape)
    radial = np.einsum("ni,ni->n", heading, atoms.points)
    heading -= radial[:, np.newaxis] * atoms.points
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    step = 1e-5
    ahead, behind = (
        GRID.field_at(moments, np.cos(s) * atoms.points + np.sin(s) * heading).values
        for s in (step, -step)
    )
    slope = np.einsum(
        "ni,ni->n", GRID.field_at(moments, atoms.points).gradients, heading
    )
    np.testing.assert_allclose(
        slope, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-5
    )


def test_heat_flow_damps_smooth_moments_exactly():
    density = smooth_density(GRID)
    before = GRID.moments(density.masses, 6)
    after = GRID.moments(GRID.heat_flow(density.masses, 0.05), 6)
    expected = before * np.exp(-0.05 * GRID.heat_symbol(6))
    np.testing.assert_allclose(after, expected, atol=1e-4)


@pytest.mark.parametrize("cell", [(0, 0), (3, 7), (30, 50)])
def test_heat_flow_of_a_point_is_positive_and_conservative(cell):
    masses = np.zeros(GRID.shape)
    masses[cell] = 1.0
    time = 2 * GRID.spacing**2
    flowed = GRID.heat_flow(masses, time)
    assert flowed.min() >= 0
    assert flowed.sum() == pytest.approx(1, abs=1e-13)
    mean = np.linalg.norm(np.einsum("ij,ijk->k", flowed, GRID.points))
    assert mean == pytest.approx(np.exp(-2 * time), abs=3e-3)


def test_interpolation_is_spectral_for_smooth_data_and_nonnegative_for_rough():
    finer = Sphere(96)
    smooth = smooth_density(GRID).interpolated(finer)
    np.testing.assert_allclose(smooth.values, smooth_density(finer).values, atol=1e-12)
    masses = np.zeros(GRID.shape)
    masses[0, 3], masses[20, 0], masses[41, 77] = 0.2, 0.3, 0.5
    rough = Density(GRID, masses / GRID.areas).interpolated(finer)
    assert rough.values.min() >= 0
    assert rough.total_mass == pytest.approx(1, abs=1e-13)
    with pytest.raises(ValueError, match="finer geometry"):
        smooth.interpolated(GRID)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((30,), "nlat = 30 must be a whole number of at least 32"),
        ((64.5,), "nlat = 64.5 must be a whole number"),
        ((33,), "nlat = 33 must be even"),
        ((62,), "nlon = 124 = 2 nlat must be a multiple of 4"),
        ((64, 50), "nlon = 50 must be a whole number of at least 64"),
        ((64, 130), "nlon = 130 must be a multiple of 4.*such as 144"),
    ],
)
def test_unusable_sizes_are_refused_before_shtns_sees_them(sizes, message):
    with pytest.raises(ValueError, match=message):
        Sphere(*sizes)


def test_a_grid_too_coarse_for_beta_names_one_that_is_fine_enough():
    equation = MeanFieldEquation(Attention(400.0), direction="ascent")
    with pytest.raises(ValueError, match=r"too coarse.*nlat of at least"):
        equation.velocity(uniform(Sphere(32)))


def test_terms_of_another_dimension_are_refused():
    equation = MeanFieldEquation(Attention(1.0), direction="ascent")
    assert equation.velocity(uniform(Circle(64))).shape == (64, 2)
    assert equation.velocity(uniform(GRID)).shape == (64, 128, 3)


def test_importing_the_package_does_not_import_shtns():
    code = "import mfpde, sys; assert 'shtns' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_shtns_the_message_says_how_to_install_it():
    code = (
        "import sys; sys.modules['shtns'] = None; import mfpde\n"
        "mfpde.Circle(32)\n"
        "try: mfpde.Sphere(64)\n"
        "except ImportError as e: assert 'libfftw3-dev' in str(e), e\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
