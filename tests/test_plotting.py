"""What stands in the pictures: the numbers of the run, at the right places."""

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

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import points_at
from mfpde.measures.measure import Atoms, Density, Measure, uniform
from mfpde.plotting import (
    plot_concentration,
    plot_energy,
    plot_run,
    plot_snapshots,
    plot_space_time,
    save_figure,
)
from mfpde.plotting.palette import NEURONS, OKABE_ITO
from mfpde.plotting.style import largest_in_rows
from mfpde.runs.run import Run
from mfpde.runs.stopping import StopReason
from mfpde.terms import Attention, Perceptron

DIRECTIONS = [
    [-0.9967456002240224, 0.0806114658969388],
    [-0.6198538201675943, -0.784717300448792],
]
WEIGHTS = [0.6324575844117477, -0.4696753890279187]
PERCEPTRON = Perceptron(DIRECTIONS, WEIGHTS)
EQUATION = MeanFieldEquation(Attention(5.0), PERCEPTRON, direction="descent")
PI_LABELS = ["0", "π/2", "π", "3π/2", "2π"]


def kuramoto_run(*, equation=EQUATION, times=None, cells=256):
    """Exact ascent at beta = 0: Poisson kernels, r^2/(1-r^2) = e^t r0^2/(1-r0^2)."""
    times = np.linspace(0.0, 10.0, 21) if times is None else times
    odds = np.exp(times) * 0.01 / 0.99
    radii = np.sqrt(odds / (1 + odds))
    states = [Measure(poisson_kernel(Circle(cells), r)) for r in radii]
    return run_of(
        states,
        equation,
        times=times,
        track=empty_track(times, 2),
        energy=radii**2 / 2,
        dissipation=radii**2 * (1 - radii**2) / 2,
        largest_density=np.array([s.density.values.max() for s in states]),
    )


def particle_run(count):
    start = 2 * np.pi * (np.arange(count) + 0.5) / count
    states = [Atoms(points_at(start - 0.2 * t * np.sin(start))) for t in range(3)]
    return run_of(states, energy=np.full(3, np.nan))


def test_snapshots_show_the_states_at_their_times():
    run = kuramoto_run()
    figure = plot_snapshots(run, times=[0.1, 5.0, 10.0])
    panels = figure.axes[:3]
    assert [ax.get_title(loc="left") for ax in panels] == ["t = 0", "t = 5", "t = 10"]
    for ax, index in zip(panels, (0, 10, 20), strict=True):
        line = next(a for a in ax.lines if a.get_gid() == "density")
        assert np.array_equal(line.get_ydata()[1:-1], run.states[index].density.values)
        assert all(len(by_gid(ax, f"active region {j}")) == 1 for j in (1, 2))
    assert len({ax.get_ylim() for ax in panels}) == 1
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    assert figure.axes[-1].get_ylabel() == "V"
    assert len(figure.axes) == 4


def test_snapshots_are_five_from_first_to_last_by_default():
    figure = plot_snapshots(kuramoto_run(equation=None))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["t = 0", "t = 2.5", "t = 5", "t = 7.5", "t = 10"]


def test_snapshots_share_the_scale_of_masses_and_bear_a_state_without_atoms():
    density = Density(Circle(64), np.full(64, 0.2 / np.pi))
    atoms = [Atoms.none(2), *(Atoms([[1.0, 0.0]], [mass]) for mass in (0.2, 0.6))]
    figure = lay_out(plot_snapshots(run_of([Measure(density, a) for a in atoms])))
    scales = [ax for ax in figure.axes if ax.yaxis.get_label_position() == "right"]
    assert len(scales) == 3
    assert all(ax.get_ylim() == pytest.approx((0.0, 1.18 * 0.6)) for ax in scales)


@pytest.mark.parametrize("times", [[], [11.0], [-1.0], [np.nan]])
def test_snapshots_refuse_times_outside_the_run(times):
    with pytest.raises(ValueError, match="times"):
        plot_snapshots(kuramoto_run(), times=times)


def mesh_of(ax):
    (mesh,) = [c for c in ax.collections if c.get_gid() is None]
    return mesh


def test_the_map_over_time_is_the_density_in_logarithmic_colours():
    run = kuramoto_run()
    ax = plot_space_time(run).axes[0]
    lay_out(ax.figure)
    mesh, values = mesh_of(ax), np.array([s.density.values for s in run.states])
    # the largest is 39.6, so that 1e-2 of the mean is below 1e-4 of it
    floor = 0.01 / (2 * np.pi)
    assert np.allclose(mesh.get_array(), np.maximum(values, floor).T)
    assert mesh.get_clim() == pytest.approx([floor, values.max()])
    assert mesh.norm(np.sqrt(floor * values.max())) == pytest.approx(0.5)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0.0, 10.0), (0.0, 2 * np.pi))
    assert [t.get_text() for t in ax.get_yticklabels()] == PI_LABELS
    assert ax.get_xlabel() == "time t"
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "density ρ (per radian)"


def test_colours_over_time_end_a_ten_thousandth_below_the_largest_density():
    values = np.full(64, 1e-12)
    values[5] = 1.0
    state = Measure(Density(Circle(64), values).normalized())
    low, high = mesh_of(plot_space_time(run_of([state] * 2)).axes[0]).get_clim()
    assert high / low == pytest.approx(1e4)
    assert high == pytest.approx(state.density.values.max())


def narrow_run(times):
    """An atom that forms at the angle 2, under the attraction that makes it."""
    equation = MeanFieldEquation(Attention(5.0), direction="ascent")
    states = [Measure(poisson_kernel(Circle(256), 0.98)) for _ in times]
    return run_of(states, equation, times=times)


def test_paths_over_time_are_those_of_the_atoms_that_are_found():
    run = narrow_run(np.linspace(0.0, 10.0, 101))
    ax = plot_space_time(run).axes[0]
    times, angles = by_gid(ax, "path 1")[0].get_data()
    # They are looked for at no more than thirty saves.
    assert 10 < len(times) <= 30
    assert set(times) <= set(run.times)
    assert np.abs(angles - 2.0).max() <= Circle(256).spacing
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["path of an atom (width ∝ mass)"]
    paths = by_gid(plot_space_time(run.tracked()).axes[0], "path 1")
    assert len(paths[0].get_xdata()) == 101


def test_few_particles_are_dots_over_time_and_many_a_map():
    ax = plot_space_time(particle_run(100)).axes[0]
    (dots,) = by_gid(ax, "particles")
    assert len(dots.get_xdata()) == 300
    assert not ax.child_axes
    many = particle_run(400)
    ax = plot_space_time(many).axes[0]
    assert not by_gid(ax, "particles")
    cells = np.asarray(mesh_of(ax).get_array())
    # They are counted in bins: a fuller one is darker, and most have some.
    assert cells[:, 0].min() > 0
    assert cells[64, 2] < cells[0, 2]


def test_time_is_logarithmic_if_the_saves_are():
    times = np.concatenate([[0.0], np.geomspace(1e-3, 10.0, 30)])
    run = kuramoto_run(times=times, cells=32)
    for ax in (plot_space_time(run).axes[0], plot_energy(run).axes[0]):
        lay_out(ax.figure)
        assert ax.get_xscale() == "log"
        assert ax.get_xlim() == pytest.approx((1e-3, 10.0))
    assert plot_energy(kuramoto_run(cells=32)).axes[0].get_xscale() == "linear"


def test_energy_and_dissipation_are_those_of_the_run():
    run = kuramoto_run()
    ax = plot_energy(run).axes[0]
    (energy,) = by_gid(ax, "energy")
    (dissipation,) = by_gid(ax.figure, "dissipation")
    assert np.array_equal(energy.get_xdata(), run.times)
    assert np.array_equal(energy.get_ydata(), run.energies)
    rates = run.diagnostics["dissipation"]
    assert np.array_equal(dissipation.get_ydata(), rates)
    scale = dissipation.axes
    assert scale.get_yscale() == "log"
    assert scale.get_ylim()[0] < rates.min() < rates.max() < scale.get_ylim()[1]
    assert (ax.get_ylabel(), scale.get_ylabel()) == ("energy E", "dissipation")


def test_energy_that_does_not_exist_is_named():
    ax = plot_energy(particle_run(4)).axes[0]
    assert ax.get_title() == "no energy: drift is not a gradient"
    assert not by_gid(ax, "energy")
    lay_out(ax.figure)


def test_rounding_of_a_constant_energy_is_not_blown_up():
    run = kuramoto_run(cells=32)
    run.diagnostics["energy"] = 0.1 + 1e-16 * np.arange(21)
    run.diagnostics["dissipation"] = np.zeros(21)
    ax = plot_energy(run).axes[0]
    assert np.ptp(ax.get_ylim()) == pytest.approx(0.02)
    assert len(ax.figure.axes) == 1


def test_energy_needs_its_diagnostic():
    run = kuramoto_run(cells=32)
    del run.diagnostics["energy"]
    with pytest.raises(ValueError, match="diagnostics"):
        plot_energy(run)


def test_overview_states_equation_direction_kernel_and_outcome():
    figure = lay_out(plot_run(kuramoto_run(cells=64)))
    title = figure.get_suptitle()
    for fact in ("Descent", "β = 5", "2 relu neurons", "K = exp(β (x·y − 1))"):
        assert fact in title
    assert "end time t = 10" in figure.get_supxlabel()
    assert "mass drift" in figure.get_supxlabel()
    assert tuple(figure.get_size_inches()) == (10.0, 7.0)
    labels = {ax.get_ylabel() for ax in figure.axes}
    assert {"density ρ (per radian)", "V", "angle θ", "energy E"} <= labels
    assert {"dissipation", "largest density"} <= labels


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        (Attention(0.0), "limit β → 0"),
        (Attention(2.0, kernel="unshifted"), "K = exp(β x·y)"),
        (Attention(2.0, normalized=True), "normalised attention"),
        (Attention(2.0, normalized=True), "A = (1/β) log ∫ exp(β (x·y − 1)) dμ"),
        (
            Attention(2.0, normalized=True, bilinear=np.eye(2)),
            "drift V ∫ exp(β x·Dy) y dμ / ∫ exp(β x·Dy) dμ",
        ),
    ],
)
def test_overview_names_the_kind_of_attention(attention, words):
    equation = MeanFieldEquation(attention, direction="ascent", diffusion=0.25)
    title = plot_run(kuramoto_run(equation=equation, cells=32)).get_suptitle()
    assert words in title
    assert "Ascent" in title
    assert "κ = 0.25" in title
    # The kernel alone says nothing of softmax.
    assert ("K = " in title) == (attention.beta > 0 and not attention.normalized)


@pytest.mark.parametrize("heads", [1, 3, 8])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_title_of_many_heads_stays_on_the_page(heads, share):
    matrix = np.diag([1.0, -0.5])
    equation = MeanFieldEquation(
        *(
            Attention(2.12132 + h, normalized=True, bilinear=matrix, value=matrix.T)
            for h in range(heads)
        ),
        PERCEPTRON,
        direction="ascent",
    )
    run = kuramoto_run(equation=equation, cells=32)
    page = Figure(figsize=(10.0 / share, 7.0), layout="constrained")
    part = page if share == 1 else page.subfigures(1, 2)[0]
    figure = lay_out(plot_run(run, figure=part))
    (title,) = [t for t in part.texts if "Ascent" in t.get_text()]
    box = title.get_window_extent()
    assert part.bbox.x0 <= box.x0 < box.x1 <= part.bbox.x1
    assert box.y1 <= part.bbox.y1
    assert box.height < 0.15 * part.bbox.height
    assert "β = 2.12132" in title.get_text()
    assert not any(box.overlaps(ax.get_tightbbox()) for ax in figure.axes)
    shown = title.get_text().count("normalised attention")
    named = shown + ("perceptron" in title.get_text())
    more = re.search(r"(\d+) more terms", title.get_text())
    assert named + (int(more[1]) if more else 0) == heads + 1


def test_heads_that_are_alike_are_counted():
    heads = [Attention(2.0, bilinear=np.eye(2) * k) for k in (1.0, 2.0, 3.0)]
    equation = MeanFieldEquation(*heads, direction="ascent")
    title = plot_run(kuramoto_run(equation=equation, cells=32)).get_suptitle()
    assert "3 × attention (β = 2, matrix D)" in title


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ((1e-3, 1.0), (1e-3, 1.0)),
        ((2e-3, 0.7), (1e-3, 1.0)),
        ((1.0, 1.0), (0.1, 1.0)),
        ((0.99999e-3, 1.00001), (1e-4, 10.0)),
    ],
)
def test_decades_end_where_the_values_do(values, limits):
    run = kuramoto_run(cells=32)
    run.diagnostics["dissipation"] = np.geomspace(*values, len(run.times))
    figure = plot_energy(run)
    (scale,) = [ax for ax in figure.axes if ax.get_ylabel() == "dissipation"]
    assert scale.get_ylim() == pytest.approx(limits)


def test_masses_in_balls_have_no_decade_above_the_whole():
    peak = np.zeros(128)
    peak[5] = 1.0
    density = Density(Circle(128), 1e-6 + peak).normalized()
    equation = MeanFieldEquation(Attention(5.0), direction="ascent")
    figure = plot_concentration(density, equation)
    (balls,) = [ax for ax in figure.axes if ax.get_ylabel().startswith("Q(r)")]
    assert balls.get_ylim()[1] == pytest.approx(1.0)


def test_curves_of_snapshots_have_a_legend():
    half = Density(Circle(64), np.full(64, 0.25 / np.pi))
    run = run_of([Measure(half, Atoms([[1.0, 0.0]], [0.5]))] * 2, EQUATION)
    neurons = {"neuron active", "$a_j$, $w_j > 0$", "$a_j$, $w_j < 0$"}
    for figure in (plot_snapshots(run), plot_run(run)):
        assert {"atom (height: mass)", *neurons} <= legend_of(figure)
    assert not legend_of(plot_snapshots(kuramoto_run(equation=None)))


def test_overview_panels_of_time_share_it_and_no_text_leaves_the_page():
    figure = lay_out(plot_run(kuramoto_run(cells=64)))
    timed = [ax for ax in figure.axes if ax.get_xlim() == (0.0, 10.0)]
    assert len(timed) == 4
    assert len({tuple(ax.get_window_extent().intervalx) for ax in timed}) == 1
    assert is_within_page(figure)


def test_overview_of_particles_and_without_diagnostics():
    figure = lay_out(plot_run(particle_run(20)))
    assert "user's own functions" in figure.get_suptitle()
    assert "largest density" not in {ax.get_ylabel() for ax in figure.axes}


@pytest.mark.parametrize("name", ["a/b/picture.png", "a/b/picture.svg", "a/b/picture"])
def test_save_figure_writes_pdf_and_png_side_by_side(tmp_path, name):
    written = save_figure(plot_energy(kuramoto_run(cells=32)), tmp_path / name)
    assert written == (tmp_path / "a/b/picture.pdf", tmp_path / "a/b/picture.png")
    assert written[0].read_bytes().startswith(b"%PDF")
    assert written[1].read_bytes().startswith(b"\x89PNG")


def test_save_figure_keeps_decimals_in_the_name(tmp_path):
    pdf, png = save_figure(Figure(figsize=(1, 1)), tmp_path / "beta_0.5")
    assert (pdf.name, png.name) == ("beta_0.5.pdf", "beta_0.5.png")


def test_saved_png_has_200_dots_per_inch(tmp_path):
    _, png = save_figure(Figure(figsize=(2, 1)), tmp_path / "empty")
    header = png.read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (400, 200)


def test_saved_files_are_the_same_bytes_each_time(tmp_path):
    files = []
    for name in ("first", "second"):
        figure = plot_run(kuramoto_run(cells=32))
        files.append([p.read_bytes() for p in save_figure(figure, tmp_path / name)])
    assert files[0] == files[1]
    assert b"CreationDate" not in files[0][0]


def test_colours_are_of_the_safe_palette():
    assert set(NEURONS) <= set(OKABE_ITO.values())
    assert len(set(NEURONS)) == len(NEURONS)


def test_drawing_leaves_global_settings_alone():
    before = dict(matplotlib.rcParams)
    plot_run(kuramoto_run(cells=32))
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("plot", [plot_snapshots, plot_space_time, plot_run])
def test_geometries_without_a_picture_and_runs_without_saves_are_refused(plot):
    with pytest.raises(ValueError, match=f"{plot.__name__} has no picture"):
        plot(run_of([Atoms([[0.0, 0.0, 0.0, 1.0]])]))
    final = uniform(Circle(32))
    with pytest.raises(ValueError, match="save_every"):
        plot(
            Run(None, np.zeros(0), [], {}, StopReason.of("t_end", time=1.0), final, 1.0)
        )


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("mfpde.geometry", "matplotlib"),
        ("mfpde.solver.solve", "matplotlib"),
        ("mfpde.plotting", "matplotlib.pyplot"),
    ],
)
def test_drawing_is_imported_only_when_asked_for(imported, absent):
    code = f"import sys, {imported}; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_atom_of_one_cell_is_seen_on_a_map_of_fewer_rows():
    values = np.full((3, 1000), 0.1)
    values[1, 537] = 80.0
    rows = largest_in_rows(values, most=100)
    assert rows.shape == (3, 100)
    assert rows[1].argmax() == 53
    assert rows[1].max() == 80.0
    assert np.array_equal(largest_in_rows(values, most=2000), values)
