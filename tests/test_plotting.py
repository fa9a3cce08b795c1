"""What stands in the pictures of runs: their numbers, at the right places."""

import re
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from drawn import (
    by_gid,
    empty_track,
    is_within_page,
    lay_out,
    legend_of,
    poisson_kernel,
    run_of,
)
from matplotlib.figure import Figure
from matplotlib.text import Text

import mfpde
from mfpde.geometry.circle import points_at
from mfpde.plotting.style import largest_in_rows
from mfpde.runs.stopping import StopReason
from validation import verdict_shapes as shapes

DIRECTIONS = [[-0.9967, 0.0806], [-0.6199, -0.7847]]
PERCEPTRON = mfpde.Perceptron(DIRECTIONS, [0.63, -0.47])
EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(5.0), PERCEPTRON, direction="descent"
)
ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="ascent")


def kuramoto_run(*, equation=EQUATION, times=None, cells=256):
    """Exact ascent at beta = 0: Poisson kernels, r^2/(1-r^2) = e^t r0^2/(1-r0^2)."""
    times = np.linspace(0.0, 10.0, 21) if times is None else times
    odds = np.exp(times) * 0.01 / 0.99
    radii = np.sqrt(odds / (1 + odds))
    kernels = [poisson_kernel(mfpde.Circle(cells), r) for r in radii]
    return run_of(
        [mfpde.Measure(kernel) for kernel in kernels],
        equation,
        times=times,
        track=empty_track(times, 2),
        energy=radii**2 / 2,
        dissipation=radii**2 * (1 - radii**2) / 2,
        largest_density=np.array([kernel.values.max() for kernel in kernels]),
    )


def particle_run(count):
    start = 2 * np.pi * (np.arange(count) + 0.5) / count
    states = [mfpde.Atoms(points_at(start - 0.2 * t * np.sin(start))) for t in range(3)]
    return run_of(states, energy=np.full(3, np.nan))


def zonal_run():
    zonal = mfpde.Zonal(8, 128)
    states = [
        mfpde.Density.from_function(zonal, lambda x, r=r: np.exp(r * x[:, -1]))
        for r in np.linspace(0.0, 30.0, 6)
    ]
    neuron = mfpde.Perceptron([zonal.axis], [1.0], biases=[0.5])
    equation = mfpde.MeanFieldEquation(mfpde.Attention(8.0), neuron, direction="ascent")
    numbers = {name: np.exp(-np.arange(6.0)) for name in ("energy", "dissipation")}
    times = np.linspace(0.0, 3.0, 6)
    return run_of(list(map(mfpde.Measure, states)), equation, times=times, **numbers)


# Over angles ----------------------------------------------------------------------------------


def test_snapshots_show_the_states_at_their_times():
    run = kuramoto_run()
    panels = mfpde.plot_snapshots(run, times=[0.1, 5.0, 10.0]).axes[:3]
    assert [ax.get_title(loc="left") for ax in panels] == ["t = 0", "t = 5", "t = 10"]
    for ax, index in zip(panels, (0, 10, 20), strict=True):
        line = next(a for a in ax.lines if a.get_gid() == "density")
        assert np.array_equal(line.get_ydata()[1:-1], run.states[index].density.values)
        assert all(len(by_gid(ax, f"active region {j}")) == 1 for j in (1, 2))
    assert len({ax.get_ylim() for ax in panels}) == 1
    figure = mfpde.plot_snapshots(kuramoto_run(equation=None))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["t = 0", "t = 2.5", "t = 5", "t = 7.5", "t = 10"]
    assert not legend_of(figure)


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


# Over time ------------------------------------------------------------------------------------


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
    assert mesh.get_clim() == pytest.approx([floor, values.max()])
    assert mesh.norm(np.sqrt(floor * values.max())) == pytest.approx(0.5)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0.0, 10.0), (0.0, 2 * np.pi))
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "density ρ (per radian)"


def test_a_zonal_map_is_the_mass_per_polar_angle():
    run = zonal_run()
    ax = lay_out(mfpde.plot_space_time(run)).axes[0]
    zonal, mesh = run.states[0].geometry, mesh_of(ax)
    values = np.array([s.density.masses / zonal.spacing for s in run.states])
    assert np.allclose(mesh.get_array(), np.maximum(values, mesh.get_clim()[0]).T)
    assert ax.get_ylim() == (0.0, np.pi)
    # What gathers around the pole comes nearer to it.
    angles = by_gid(ax, "path 1")[0].get_ydata()
    assert (np.diff(angles) <= 0).all()
    assert 0 <= angles[-1] < angles[0] < np.pi / 2


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


def test_few_particles_are_dots_over_time_and_many_a_map():
    ax = mfpde.plot_space_time(particle_run(100)).axes[0]
    (dots,) = by_gid(ax, "particles")
    assert len(dots.get_xdata()) == 300
    ax = mfpde.plot_space_time(particle_run(400)).axes[0]
    assert not by_gid(ax, "particles")
    cells = np.asarray(mesh_of(ax).get_array())
    # They are counted in bins: a fuller one is darker, and most have some.
    assert cells[:, 0].min() > 0
    assert cells[64, 2] < cells[0, 2]


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
    assert energy.axes.get_xscale() == "linear"
    late = kuramoto_run(times=np.append(0.0, np.geomspace(1e-3, 10.0, 30)), cells=32)
    assert lay_out(mfpde.plot_energy(late)).axes[0].get_xscale() == "log"
    # Rounding of a constant energy is not blown up.
    rest = kuramoto_run(cells=32)
    rest.diagnostics["energy"] = 0.1 + 1e-16 * np.arange(21)
    assert np.ptp(mfpde.plot_energy(rest).axes[0].get_ylim()) == pytest.approx(0.02)
    ax = mfpde.plot_energy(particle_run(4)).axes[0]
    assert ax.get_title() == "no energy: drift is not a gradient"
    del run.diagnostics["energy"]
    with pytest.raises(ValueError, match="diagnostics"):
        mfpde.plot_energy(run)


# The page of a run ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["circle", "zonal", "particles"])
def test_the_page_states_equation_and_outcome_and_nothing_leaves_it(kind):
    run = {
        "circle": lambda: kuramoto_run(cells=64),
        "zonal": zonal_run,
        "particles": lambda: particle_run(20),
    }[kind]()
    figure = lay_out(mfpde.plot_run(run))
    facts = {
        "circle": ["Descent", "β = 5", "2 relu neurons", "K = exp(β (x·y − 1))"],
        "zonal": ["Ascent", "β = 8", "perceptron (1 relu neuron)"],
        "particles": ["user's own functions"],
    }[kind]
    assert all(fact in figure.get_suptitle() for fact in facts)
    assert f"end time t = {run.final_time:g}" in figure.get_supxlabel()
    assert "mass drift" in figure.get_supxlabel()
    assert is_within_page(figure)
    labels = {ax.get_ylabel() for ax in figure.axes}
    if kind == "circle":
        panels = {"density ρ (per radian)", "V", "angle θ", "energy E", "dissipation"}
        assert panels | {"largest density"} <= labels
        assert len([ax for ax in figure.axes if ax.get_xlim() == (0.0, 10.0)]) == 4
    if kind == "particles":
        assert "largest density" not in labels


def attention(**given):
    return mfpde.Attention(2.0, **given)


SOFTMAX = "A = (1/β) log ∫ exp(β (x·y − 1)) dμ"
HEAD = "drift V ∫ exp(β x·Dy) y dμ / ∫ exp(β x·Dy) dμ"


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ([mfpde.Attention(0.0)], "limit β → 0"),
        ([attention(kernel="unshifted")], "K = exp(β x·y)"),
        ([attention(normalized=True)], "normalised attention"),
        ([attention(normalized=True)], SOFTMAX),
        ([attention(normalized=True, bilinear=np.eye(2))], HEAD),
        (
            [attention(bilinear=np.eye(2) * k) for k in (1.0, 2.0, 3.0)],
            "3 × attention (β = 2, matrix D)",
        ),
    ],
)
def test_the_page_names_the_kind_of_attention(terms, words):
    equation = mfpde.MeanFieldEquation(*terms, direction="ascent", diffusion=0.25)
    title = mfpde.plot_run(kuramoto_run(equation=equation, cells=32)).get_suptitle()
    assert words in title
    assert "κ = 0.25" in title


# Verdicts and minima --------------------------------------------------------------------------


def atom_and_dead_half(geometry):
    axis = np.eye(geometry.dimension)[-1]
    away = shapes.distance(geometry.points, axis)
    narrow = np.exp(-((away / (0.6 * geometry.spacing)) ** 2) / 2)
    values = np.where(away < np.pi / 2, 1e-3, 1.0) + 500 * narrow
    return mfpde.Density(geometry, values).normalized(), shapes.neuron(axis, 1.0)


def texts_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in lay_out(figure).findobj(Text)]


@pytest.mark.parametrize(
    "geometry", [mfpde.Circle(128), mfpde.Sphere(48), mfpde.Zonal(3, 96)]
)
def test_a_verdict_is_drawn_with_its_numbers(geometry):
    density, equation = atom_and_dead_half(geometry)
    report = mfpde.concentration(density, equation)
    assert report.verdict == "atoms"
    figure = mfpde.plot_concentration(report, equation)
    texts = texts_of(figure)
    numbers = str(report).splitlines()[1:]
    assert f"{report.of_kinds('atom')[0].pinning_force:.2e}" in numbers[1]
    told = [
        "\n".join(numbers),
        f"frozen mass {report.frozen_mass:.4f}",
        "atoms: 1 atom",
    ]
    assert all(any(words in text for text in texts) for words in told)
    exponents = [float(a.get_text()) for a in by_gid(figure, "exponent")]
    np.testing.assert_allclose(exponents, np.maximum(report.exponents, 0), atol=6e-3)
    assert "atom" in [mark.get_text() for mark in by_gid(figure, "region")]
    assert by_gid(figure, "jump")
    if isinstance(geometry, mfpde.Circle):
        # A measure is looked at first.
        assert texts_of(mfpde.plot_concentration(density, equation)) == texts


def test_atoms_without_a_grid_have_a_picture_too():
    atoms = mfpde.Atoms(shapes.on_circle(0.3, 2.0), [0.6, 0.4])
    texts = texts_of(mfpde.plot_concentration(atoms, shapes.attention(9.0)))
    assert any("0.600000" in text for text in texts)
    assert "no grid" in texts


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


@pytest.mark.parametrize("weight", [None, -0.3, -1.5])
def test_the_map_of_a_certificate_is_drawn_for_every_kind(weight):
    terms = () if weight is None else (mfpde.Perceptron([[0.6, 0.0, 0.8]], [weight]),)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(20.0), *terms, direction="descent"
    )
    found = mfpde.minimize(equation, mfpde.Sphere(48))
    figure = lay_out(mfpde.plot_certificate(found))
    assert len(by_gid(figure, "distance")) == 1
    # The points of a ring are a crowd.
    points = by_gid(figure, "atoms") + by_gid(figure, "particles")
    assert bool(points) == (found.kind != "density")
    assert found.kind in figure.get_suptitle()


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
