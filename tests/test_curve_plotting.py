"""A measure against one angle: curve, stems, landscape, neurons, where the numbers say."""

import numpy as np
import pytest
from drawn import by_gid, poisson_kernel

import mfpde
from mfpde.geometry.circle import points_at

DIRECTIONS = np.array([[-0.9967, 0.0812], [-0.6199, -0.7847]])
PERCEPTRON = mfpde.Perceptron(DIRECTIONS, [0.63, -0.47])
CIRCLE, ZONAL = mfpde.Circle(64), mfpde.Zonal(8, 64)


def axes_of(measure, *terms):
    """Axes of the picture of a measure, with the landscape of these terms."""
    equation = mfpde.MeanFieldEquation(*terms, direction="ascent") if terms else None
    return mfpde.plot_density(measure, equation=equation).axes


def test_the_line_is_the_density_to_both_ends_of_the_circle():
    density = poisson_kernel(CIRCLE, 0.5)
    (line,) = by_gid(axes_of(density)[0].figure, "density")
    angles, values = line.get_data()
    np.testing.assert_allclose(angles[1:-1], np.arange(0.5, 64) * 2 * np.pi / 64)
    np.testing.assert_array_equal(values[1:-1], density.values)
    assert angles[0] < 0 < 2 * np.pi < angles[-1]
    assert (values[0], values[-1]) == (density.values[-1], density.values[0])


def test_a_zonal_line_is_the_mass_per_polar_angle():
    zonal = mfpde.Zonal(64, 256)
    axes = axes_of(mfpde.uniform(zonal))
    (line,) = by_gid(axes[0].figure, "density")
    angles, values = line.get_data()
    np.testing.assert_array_equal(angles, zonal.angles)
    exact = np.sin(zonal.angles) ** 62
    exact /= exact.sum() * zonal.spacing
    np.testing.assert_allclose(values, exact, atol=1e-3 * values.max())
    assert values.sum() * zonal.spacing == pytest.approx(1.0)
    assert axes[0].get_ylabel().startswith("mass per polar angle")


# The peak of a Poisson kernel is (1 + r)/(1 - r) times the mean.
@pytest.mark.parametrize(("r", "scale"), [(0.9, "linear"), (0.99, "log")])
def test_the_scale_holds_all_values_and_is_logarithmic_above_fifty_means(r, scale):
    density = poisson_kernel(mfpde.Circle(4096), r)
    (ax,) = axes_of(density)
    low, high = ax.get_ylim()
    assert ax.get_yscale() == scale
    assert low < density.values.min() <= density.values.max() < high


@pytest.mark.parametrize(
    ("geometry", "place"), [(CIRCLE, points_at), (ZONAL, ZONAL.points_at)]
)
def test_atoms_are_stems_with_masses_on_a_second_scale(geometry, place):
    angles, masses = np.array([0.0, 1.7, np.pi]), np.array([0.3, 0.15, 0.05])
    half = mfpde.Density(geometry, 0.5 * mfpde.uniform(geometry).values)
    axes = axes_of(mfpde.Measure(half, mfpde.Atoms(place(angles), masses)))
    (heads,) = by_gid(axes[0].figure, "atoms")
    np.testing.assert_allclose(heads.get_xdata(), angles)
    np.testing.assert_array_equal(heads.get_ydata(), masses)
    assert heads.axes is axes[1] is not axes[0]
    assert [text.get_text() for text in axes[1].texts] == ["0.3", "0.15", "0.05"]


@pytest.mark.parametrize("geometry", [mfpde.Circle(997), mfpde.Zonal(8, 501)])
def test_neurons_are_tinted_where_they_are_active(geometry):
    """On both scales of angle, for directions of any length and any bias."""
    units, place = points_at(np.array([0.0, 1.0, 3.0, 6.0])), points_at
    if isinstance(geometry, mfpde.Zonal):
        units, place = np.stack([geometry.axis, -geometry.axis]), geometry.points_at
    lengths, shares = (1.0, 3.0), (0.0, 0.5, -0.5, 2.0, -2.0, 5.0, -5.0)
    directions = np.concatenate([length * units for length in lengths for _ in shares])
    biases = np.tile(np.repeat(shares, len(units)), len(lengths))
    neurons = mfpde.Perceptron(directions, np.ones(len(biases)), biases=biases)
    (ax, _) = axes_of(mfpde.uniform(geometry), neurons)
    middle = (geometry.angles[:-1] + geometry.angles[1:]) / 2
    points = place(middle)
    for number, (direction, bias) in enumerate(zip(directions, biases, strict=True), 1):
        (tint,) = by_gid(ax, f"active region {number}")
        inside = np.zeros(len(middle), dtype=bool)
        for path in tint.get_paths():
            low, high = path.vertices[:, 0].min(), path.vertices[:, 0].max()
            inside |= (low < middle) & (middle < high)
        active = points @ direction + bias
        # Ends of a region are drawn to a thousandth of a turn.
        clear = np.abs(active) > 0.005 * np.linalg.norm(direction)
        np.testing.assert_array_equal(inside[clear], active[clear] > 0)


VECTORS = mfpde.Perceptron(DIRECTIONS, [[1.0, 0.0], [0.0, 1.0]])
POTENTIAL = mfpde.Potential(
    lambda x: x[..., 0], lambda x: np.eye(x.shape[-1])[0] + 0 * x
)
POLE = mfpde.Perceptron(ZONAL.points_at(np.zeros(1)), [1.0], biases=[0.5])


def drift_along(t):
    return np.sum(VECTORS.drift(points_at(t)) * points_at(t + np.pi / 2), axis=-1)


@pytest.mark.parametrize(
    ("geometry", "term", "name", "exact"),
    [
        (CIRCLE, PERCEPTRON, "V", lambda t: PERCEPTRON.value(points_at(t))),
        (CIRCLE, POTENTIAL, "V", np.cos),
        (ZONAL, POLE, "V", lambda t: np.maximum(np.cos(t) + 0.5, 0) ** 2 / 2),
        (CIRCLE, VECTORS, "drift", drift_along),
    ],
)
def test_the_landscape_is_the_potential_or_else_the_drift(geometry, term, name, exact):
    axes = axes_of(mfpde.uniform(geometry), term)
    (line,) = by_gid(axes[0].figure, "landscape")
    np.testing.assert_allclose(line.get_ydata(), exact(line.get_xdata()), atol=1e-12)
    assert line.axes.get_ylabel() == name


def test_attention_alone_has_no_landscape():
    (ax,) = axes_of(mfpde.uniform(CIRCLE), mfpde.Attention(5.0))
    assert not by_gid(ax, "active region 1")


def test_few_particles_are_stems_and_many_a_density():
    few, many = (axes_of(mfpde.Atoms(mfpde.Circle(n).points)) for n in (50, 1024))
    (heads,) = by_gid(few[0].figure, "atoms")
    np.testing.assert_allclose(heads.get_ydata(), 1 / 50)
    assert not by_gid(many[0].figure, "atoms")
    (line,) = by_gid(many[0].figure, "density")
    # Equispaced particles are a uniform density.
    np.testing.assert_allclose(line.get_ydata(), 1 / (2 * np.pi), rtol=1e-6)


def test_particles_in_bins_keep_the_mass_of_any_arc():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 2000)
    angles[:800], angles[800:1200] = 0.01, 3.0
    masses = np.random.default_rng(1).uniform(0.5, 1.5, 2000)
    atoms = mfpde.Atoms(points_at(angles), masses / masses.sum())
    (line,) = by_gid(mfpde.plot_density(atoms), "density")
    centres, values = (part[1:-1] for part in line.get_data())
    width = centres[1] - centres[0]
    assert values.sum() * width == pytest.approx(1.0)
    for low, high in ((0.5, 2.0), (2.5, 3.5), (1.0, 6.0)):
        exact = atoms.masses[(angles > low) & (angles < high)].sum()
        inside = (centres > low) & (centres < high)
        at_edges = 2 * width * 800 / 2000 / (2 * np.pi)
        assert width * values[inside].sum() == pytest.approx(exact, abs=2 * at_edges)
