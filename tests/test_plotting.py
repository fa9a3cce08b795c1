"""What stands in pictures of one measure and of runs: their numbers, at the right places."""

import re
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from drawn import (
    by_gid,
    is_within_page,
    kuramoto_run,
    lay_out,
    legend_of,
    particle_run,
    poisson_kernel,
    run_of,
    zonal_run,
)

import mfpde
from mfpde.geometry.circle import points_at
from mfpde.plotting.style import largest_in_rows
from mfpde.runs.stopping import StopReason

DIRECTIONS = np.array([[-0.9967, 0.0812], [-0.6199, -0.7847]])
PERCEPTRON = mfpde.Perceptron(DIRECTIONS, [0.63, -0.47])
EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(5.0), PERCEPTRON, direction="descent"
)
ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="ascent")
CIRCLE, ZONAL = mfpde.Circle(64), mfpde.Zonal(8, 64)


# A measure over its angle ---------------------------------------------------------------------


def axes_of(measure, *terms):
    """Axes of the picture of a measure, with the landscape of these terms."""
    equation = mfpde.MeanFieldEquation(*terms, direction="ascent") if terms else None
    return mfpde.plot_density(measure, equation=equation).axes


# The peak of a Poisson kernel is (1 + r)/(1 - r) times the mean.
@pytest.mark.parametrize(("r", "scale"), [(0.9, "linear"), (0.99, "log")])
def test_the_scale_holds_all_values_and_is_logarithmic_above_fifty_means(r, scale):
    density = poisson_kernel(mfpde.Circle(4096), r)
    (ax,) = axes_of(density)
    low, high = ax.get_ylim()
    assert ax.get_yscale() == scale
    assert low < density.values.min() <= density.values.max() < high


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


def test_few_particles_are_stems_and_many_bins_that_keep_the_mass_of_any_arc():
    (heads,) = by_gid(axes_of(mfpde.Atoms(mfpde.Circle(50).points))[0].figure, "atoms")
    np.testing.assert_allclose(heads.get_ydata(), 1 / 50)
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 2000)
    angles[:800], angles[800:1200] = 0.01, 3.0
    masses = np.random.default_rng(1).uniform(0.5, 1.5, 2000)
    atoms = mfpde.Atoms(points_at(angles), masses / masses.sum())
    figure = mfpde.plot_density(atoms)
    assert not by_gid(figure, "atoms")
    (line,) = by_gid(figure, "density")
    centres, values = (part[1:-1] for part in line.get_data())
    width = centres[1] - centres[0]
    assert values.sum() * width == pytest.approx(1.0)
    for low, high in ((0.5, 2.0), (2.5, 3.5), (1.0, 6.0)):
        exact = atoms.masses[(angles > low) & (angles < high)].sum()
        inside = (centres > low) & (centres < high)
        at_edges = 2 * width * 800 / 2000 / (2 * np.pi)
        assert width * values[inside].sum() == pytest.approx(exact, abs=2 * at_edges)


# Runs over time -------------------------------------------------------------------------------


def test_snapshots_show_the_states_at_their_times_on_one_scale():
    run = kuramoto_run()
    panels = mfpde.plot_snapshots(run, times=[0.1, 5.0, 10.0]).axes[:3]
    assert [ax.get_title(loc="left") for ax in panels] == ["t = 0", "t = 5", "t = 10"]
    for ax, index in zip(panels, (0, 10, 20), strict=True):
        line = next(a for a in ax.lines if a.get_gid() == "density")
        assert np.array_equal(line.get_ydata()[1:-1], run.states[index].density.values)
    assert len({ax.get_ylim() for ax in panels}) == 1


def test_snapshots_share_the_scale_of_masses_and_explain_all_marks():
    density = mfpde.Density(mfpde.Circle(64), np.full(64, 0.2 / np.pi))
    masses = (None, 0.2, 0.6)
    atoms = [None if m is None else mfpde.Atoms([[1.0, 0.0]], [m]) for m in masses]
    run = run_of([mfpde.Measure(density, a) for a in atoms], EQUATION)
    figure = lay_out(mfpde.plot_snapshots(run))
    scales = [ax for ax in figure.axes if ax.yaxis.get_label_position() == "right"]
    assert len({ax.get_ylim() for ax in scales}) == 1
    assert scales[0].get_ylim()[1] > 0.6
    neurons = {"neuron active", "$a_j$, $w_j > 0$", "$a_j$, $w_j < 0$"}
    for drawn in (figure, mfpde.plot_run(run)):
        assert {"atom (height: mass)", *neurons} <= legend_of(drawn)


@pytest.mark.parametrize("times", [[], [11.0], [-1.0], [np.nan]])
def test_snapshots_refuse_times_outside_the_run(times):
    with pytest.raises(ValueError, match="times"):
        mfpde.plot_snapshots(kuramoto_run(), times=times)


def mesh_of(ax):
    (mesh,) = [c for c in ax.collections if c.get_gid() is None]
    return mesh


def test_the_map_over_time_is_the_density_in_logarithmic_colours():
    run = kuramoto_run()
    ax = lay_out(mfpde.plot_space_time(run)).axes[0]
    mesh, values = mesh_of(ax), np.array([s.density.values for s in run.states])
    # The largest is 39.6, so that 1e-2 of the mean is below 1e-4 of it.
    floor = 0.01 / (2 * np.pi)
    assert np.allclose(mesh.get_array(), np.maximum(values, floor).T)
    assert mesh.norm(np.sqrt(floor * values.max())) == pytest.approx(0.5)


def test_paths_over_time_are_those_of_the_atoms_that_are_found():
    times = np.linspace(0.0, 10.0, 101)
    state = mfpde.Measure(poisson_kernel(mfpde.Circle(256), 0.98))
    run = run_of([state] * 101, ASCENT, times=times)
    ax = mfpde.plot_space_time(run).axes[0]
    seen, angles = by_gid(ax, "path 1")[0].get_data()
    # They are looked for at no more than thirty saves.
    assert 10 < len(seen) <= 30
    assert set(seen) <= set(times)
    assert np.abs(angles - 2.0).max() <= mfpde.Circle(256).spacing
    paths = by_gid(mfpde.plot_space_time(run.tracked()).axes[0], "path 1")
    assert len(paths[0].get_xdata()) == 101


def test_an_atom_of_one_cell_is_seen_on_a_map_of_fewer_rows():
    values = np.full((3, 1000), 0.1)
    values[1, 537] = 80.0
    rows = largest_in_rows(values, most=100)
    assert rows.shape == (3, 100)
    assert rows[1].argmax() == 53
    assert rows[1].max() == 80.0
    assert np.array_equal(largest_in_rows(values, most=2000), values)


def test_energy_and_dissipation_are_those_of_the_run():
    run = kuramoto_run()
    figure = mfpde.plot_energy(run)
    (energy,), (dissipation,) = (by_gid(figure, n) for n in ("energy", "dissipation"))
    assert np.array_equal(energy.get_xdata(), run.times)
    assert np.array_equal(energy.get_ydata(), run.energies)
    assert np.array_equal(dissipation.get_ydata(), run.diagnostics["dissipation"])
    # Rounding of a constant energy is not blown up.
    rest = kuramoto_run(cells=32)
    rest.diagnostics["energy"] = 0.1 + 1e-16 * np.arange(21)
    assert np.ptp(mfpde.plot_energy(rest).axes[0].get_ylim()) == pytest.approx(0.02)
    ax = mfpde.plot_energy(particle_run(4)).axes[0]
    assert ax.get_title() == "no energy: drift is not a gradient"
    del run.diagnostics["energy"]
    with pytest.raises(ValueError, match="diagnostics"):
        mfpde.plot_energy(run)


@pytest.mark.parametrize("run", [kuramoto_run(cells=64), zonal_run(), particle_run(20)])
def test_nothing_leaves_the_page_of_a_run(run):
    assert is_within_page(mfpde.plot_run(run))


# Certificates ---------------------------------------------------------------------------------


def test_the_curve_of_a_certificate_touches_the_floor_at_the_atoms():
    neurons = mfpde.Perceptron.random(4, 2, seed=1, scale=0.3)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(10.0), neurons, direction="descent"
    )
    found = mfpde.minimize(equation, mfpde.Circle(128))
    figure = mfpde.plot_certificate(found)
    names = ("first variation", "floor", "atoms")
    (line,), (floor,), (atoms,) = (by_gid(figure, name) for name in names)
    level = floor.get_ydata()[0]
    assert level == found.certificate.floor
    assert (line.get_ydata() >= level - 1e-12).all()
    for angle, height in atoms.get_offsets():
        assert height == level
        assert np.interp(angle, *line.get_data()) == pytest.approx(level, abs=1e-5)


# Files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b/p.png", "a/b/p.svg", "a/b/p", "beta_0.5"])
def test_save_figure_writes_pdf_and_png_side_by_side(tmp_path, name):
    written = mfpde.save_figure(mfpde.plot_energy(particle_run(4)), tmp_path / name)
    stem = tmp_path / re.sub(r"\.(png|svg)$", "", name)
    assert written == tuple(stem.parent / f"{stem.name}.{e}" for e in ("pdf", "png"))
    assert written[0].read_bytes().startswith(b"%PDF")
    assert written[1].read_bytes().startswith(b"\x89PNG")


def test_saved_files_are_the_same_bytes_and_settings_are_left_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    files = []
    for name in ("first", "second"):
        figure = mfpde.plot_run(kuramoto_run(cells=32))
        written = mfpde.save_figure(figure, tmp_path / name)
        files.append([path.read_bytes() for path in written])
    assert files[0] == files[1]
    assert b"CreationDate" not in files[0][0]
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["plot_snapshots", "plot_space_time", "plot_run"])
def test_geometries_without_a_picture_and_runs_without_saves_are_refused(name):
    plot = getattr(mfpde, name)
    with pytest.raises(ValueError, match=f"{name} has no picture"):
        plot(run_of([mfpde.Atoms([[0.0, 0.0, 0.0, 1.0]])]))
    end = StopReason.of("t_end", time=1.0)
    final = mfpde.uniform(mfpde.Circle(32))
    with pytest.raises(ValueError, match="save_every"):
        plot(mfpde.Run(None, np.zeros(0), [], {}, end, final, 1.0))


def test_one_measure_has_no_picture_in_four_dimensions_or_in_another_view():
    with pytest.raises(ValueError, match=r"plot_density has no picture .* S\^3"):
        mfpde.plot_density(mfpde.Atoms([[0.0, 0.0, 0.0, 1.0]]))
    for grid in (mfpde.Circle(32), mfpde.Zonal(8, 64)):
        with pytest.raises(ValueError, match="plot_globe has no picture"):
            mfpde.plot_globe(mfpde.uniform(grid))


def test_drawing_is_imported_only_when_asked_for():
    code = (
        "import sys, mfpde.geometry, mfpde.solver.solve\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import mfpde.plotting, mfpde\n"
        "mfpde.uniform(mfpde.Circle(32))._repr_html_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
