"""A measure against one angle: curve, stems, landscape, neurons, where the numbers say."""

import numpy as np
import pytest
from drawn import by_gid, is_within_page, poisson_kernel
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend

import mfpde
from mfpde.geometry.circle import angles_of, points_at
from mfpde.plotting.palette import NEURONS

DIRECTIONS = np.array([[-0.9967, 0.0812], [-0.6199, -0.7847]])
PERCEPTRON = mfpde.Perceptron(DIRECTIONS, [0.63, -0.47])
EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(5.0), PERCEPTRON, direction="descent"
)
CIRCLE_AND_POLE = {
    mfpde.Circle: lambda _, angles: points_at(angles),
    mfpde.Zonal: lambda zonal, angles: zonal.points_at(angles),
}
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
    np.testing.assert_allclose(
        values, exact / exact.sum() / zonal.spacing, atol=1e-3 * values.max()
    )
    assert values.sum() * zonal.spacing == pytest.approx(1.0)
    assert axes[0].get_ylabel().startswith("mass per polar angle")


@pytest.mark.parametrize("terms", [(), (PERCEPTRON,)])
def test_angles_are_in_units_of_pi_and_named_once(terms):
    axes = axes_of(mfpde.uniform(CIRCLE), *terms)
    axes[0].figure.draw_without_rendering()
    labels = [text.get_text() for text in axes[-1].get_xticklabels()]
    assert labels == ["0", "π/2", "π", "3π/2", "2π"]
    assert all(ax.get_xlim() == (0.0, 2 * np.pi) for ax in axes)
    assert [ax.get_xlabel() for ax in axes] == [""] * len(terms) + ["angle θ"]
    assert axes[0].get_ylabel() == "density ρ (per radian)"


def test_no_text_leaves_the_page():
    assert is_within_page(mfpde.plot_density(mfpde.uniform(CIRCLE), equation=EQUATION))


# The peak of a Poisson kernel is (1 + r)/(1 - r) times the mean.
@pytest.mark.parametrize(
    ("r", "scale"), [(0.0, "linear"), (0.9, "linear"), (0.99, "log")]
)
def test_the_scale_is_logarithmic_above_fifty_means(r, scale):
    density = poisson_kernel(mfpde.Circle(4096), r)
    (ax,) = axes_of(density)
    low, high = ax.get_ylim()
    assert ax.get_yscale() == scale
    assert low < density.values.min() <= density.values.max() < high
    assert (low == 0.0) == (scale == "linear")


def test_a_density_of_zero_has_limits():
    nothing = mfpde.Density(CIRCLE, np.zeros(64))
    ax, _ = axes_of(mfpde.Measure(nothing, mfpde.Atoms([[1.0, 0.0]])))
    assert ax.get_ylim()[0] == 0.0 < ax.get_ylim()[1]


@pytest.mark.parametrize(
    ("geometry", "place", "name"),
    [
        (CIRCLE, points_at, "mass of an atom"),
        (ZONAL, ZONAL.points_at, "mass of a ring"),
    ],
)
def test_atoms_are_stems_with_masses_on_a_second_scale(geometry, place, name):
    angles, masses = np.array([0.0, 1.7, np.pi]), np.array([0.3, 0.15, 0.05])
    half = mfpde.Density(geometry, 0.5 * mfpde.uniform(geometry).values)
    axes = axes_of(mfpde.Measure(half, mfpde.Atoms(place(angles), masses)))
    (heads,) = by_gid(axes[0].figure, "atoms")
    np.testing.assert_allclose(heads.get_xdata(), angles)
    np.testing.assert_array_equal(heads.get_ydata(), masses)
    density, scale = axes
    assert heads.axes is scale is not density
    assert scale.get_ylim()[0] == 0.0 < masses.max() < scale.get_ylim()[1]
    assert [text.get_text() for text in scale.texts] == ["0.3", "0.15", "0.05"]
    assert scale.get_ylabel() == name


def test_labels_of_atoms_do_not_lie_on_one_another():
    near = mfpde.Atoms(points_at(np.array([1.0, 1.1, 3.0])), [0.34, 0.33, 0.33])
    (ax,) = axes_of(near)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 2
    assert not boxes[0].overlaps(boxes[1])


@pytest.mark.parametrize("geometry", [mfpde.Circle(997), mfpde.Zonal(8, 501)])
def test_neurons_are_tinted_where_they_are_active(geometry):
    """On both scales of angle, for directions of any length and any bias."""
    units = points_at(np.array([0.0, 1.0, 3.0, 6.0]))
    if isinstance(geometry, mfpde.Zonal):
        units = np.stack([geometry.axis, -geometry.axis])
    lengths, shares = (1.0, 3.0), (0.0, 0.5, -0.5, 2.0, -2.0, 5.0, -5.0)
    directions = np.concatenate([length * units for length in lengths for _ in shares])
    biases = np.tile(np.repeat(shares, len(units)), len(lengths))
    neurons = mfpde.Perceptron(directions, np.ones(len(biases)), biases=biases)
    (ax, _) = axes_of(mfpde.uniform(geometry), neurons)
    middle = (geometry.angles[:-1] + geometry.angles[1:]) / 2
    points = CIRCLE_AND_POLE[type(geometry)](geometry, middle)
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


def test_neurons_have_colours_marks_and_a_legend():
    axes = axes_of(mfpde.uniform(CIRCLE), PERCEPTRON)
    for index, direction in enumerate(DIRECTIONS):
        spans = by_gid(axes[0].figure, f"active region {index + 1}")
        # One in the density's axes and one in the landscape's.
        assert len(spans) == 2
        for span in spans:
            angles = span.get_paths()[0].vertices[:, 0]
            middle = (angles.min() + angles.max()) / 2
            assert middle == pytest.approx(float(angles_of(direction)), abs=0.01)
            assert to_rgb(span.get_facecolor()[0]) == to_rgb(NEURONS[index])
    marks = [by_gid(axes[0].figure, f"direction {j}")[0] for j in (1, 2)]
    assert [mark.get_marker() for mark in marks] == ["^", "v"]
    np.testing.assert_allclose([m.get_xdata()[0] for m in marks], angles_of(DIRECTIONS))
    (legend,) = axes[0].findobj(Legend)
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["neuron active", "$a_j$, $w_j > 0$", "$a_j$, $w_j < 0$"]


VECTORS = mfpde.Perceptron(DIRECTIONS, [[1.0, 0.0], [0.0, 1.0]])
POTENTIAL = mfpde.Potential(
    lambda x: x[..., 0], lambda x: np.eye(x.shape[-1])[0] + 0 * x
)
POLE = mfpde.Perceptron(ZONAL.points_at(np.zeros(1)), [1.0], biases=[0.5])


@pytest.mark.parametrize(
    ("geometry", "term", "name", "exact"),
    [
        (CIRCLE, PERCEPTRON, "V", lambda t: PERCEPTRON.value(points_at(t))),
        (CIRCLE, POTENTIAL, "V", np.cos),
        (ZONAL, POLE, "V", lambda t: np.maximum(np.cos(t) + 0.5, 0) ** 2 / 2),
        (
            CIRCLE,
            VECTORS,
            "drift",
            lambda t: np.sum(
                VECTORS.drift(points_at(t)) * points_at(t + np.pi / 2), axis=-1
            ),
        ),
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
    assert ax.get_legend() is None


def test_close_directions_share_a_label():
    neurons = mfpde.Perceptron(points_at(np.array([1.0, 1.1, 4.0])), [1.0, 1.0, 1.0])
    _, strip = axes_of(mfpde.uniform(CIRCLE), neurons)
    assert [text.get_text() for text in strip.texts] == ["$a_{1,2}$", "$a_{3}$"]


@pytest.mark.parametrize("free", [False, True])
def test_given_axes_are_drawn_on(free):
    figure = Figure()
    ax = figure.add_axes((0.1, 0.4, 0.8, 0.5)) if free else figure.subplots()
    drawn = mfpde.plot_density(mfpde.uniform(CIRCLE), equation=EQUATION, ax=ax)
    assert drawn is figure
    assert by_gid(ax, "density")
    assert by_gid(figure, "landscape")


def test_few_particles_are_stems_and_many_a_density():
    few, many = (axes_of(mfpde.Atoms(mfpde.Circle(n).points)) for n in (50, 1024))
    assert few[0].get_ylabel() == "mass of an atom"
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


def test_what_has_no_picture_is_refused():
    with pytest.raises(ValueError, match=r"plot_density has no picture .* S\^3"):
        mfpde.plot_density(mfpde.Atoms([[0.0, 0.0, 0.0, 1.0]]))
    with pytest.raises(ValueError, match="must be a Density"):
        mfpde.plot_density(np.ones(8))
