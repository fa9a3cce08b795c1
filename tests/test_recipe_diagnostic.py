"""Recipe: a diagnostic of one's own is one record, stored, loaded, shown and drawn."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import mfpde
from mfpde import plotting
from mfpde.commands.command_line import main
from mfpde.solver.diagnostics import DIAGNOSTICS, Diagnostic, Snapshot
from mfpde.solver.recorder import Observer
from mfpde.storage import RunWriter

CIRCLE = mfpde.Circle(64)
START = mfpde.perturbed_uniform(CIRCLE, 0.3)
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")


def order_parameter(seen: Snapshot) -> float:
    """Return | int x dmu |, which is 0 for the uniform density and 1 for one atom."""
    density = seen.measure.density
    return float(np.linalg.norm(density.masses @ CIRCLE.points))


ORDER = Diagnostic("order", "length of the mean of x", "1", order_parameter)


@pytest.fixture(scope="module")
def run() -> mfpde.Run:
    return mfpde.solve(EQUATION, START, t_end=1.0, save_every=0.5, diagnostics=[ORDER])


def test_it_is_recorded_beside_the_others(run: mfpde.Run) -> None:
    expected = [np.linalg.norm(s.density.masses @ CIRCLE.points) for s in run.states]
    np.testing.assert_array_equal(run.diagnostics["order"], expected)
    assert list(run.diagnostics) == [*DIAGNOSTICS, "order"]
    assert run.quantities["order"].meaning == ORDER.meaning


@pytest.mark.parametrize("is_written_as_it_goes", [False, True])
def test_it_is_stored_with_meaning_and_unit(run, is_written_as_it_goes, tmp_path):
    path = tmp_path / "run.zarr"
    if is_written_as_it_goes:
        mfpde.solve(
            EQUATION,
            START,
            t_end=1.0,
            save_every=0.5,
            diagnostics=[ORDER],
            observer=RunWriter(path, EQUATION, CIRCLE),
        )
    else:
        mfpde.save(run, path)
    stored = xr.open_zarr(path, consolidated=False)["order"]
    assert stored.attrs == {"long_name": ORDER.meaning, "units": ORDER.unit}
    loaded = mfpde.load(path)
    np.testing.assert_array_equal(loaded.diagnostics["order"], run.diagnostics["order"])
    assert loaded.quantities == run.quantities
    assert loaded.stop == run.stop


def test_it_is_shown_with_its_meaning(run, tmp_path, capsys):
    mfpde.save(run, tmp_path / "run.zarr")
    assert main(["show", str(tmp_path / "run.zarr")]) == 0
    told = capsys.readouterr().out
    assert "order" in told
    assert f"{run.diagnostics['order'][-1]:.6g}" in told
    assert f"order: {ORDER.meaning} [1]" in told


def test_it_is_drawn(run: mfpde.Run) -> None:
    ax = plotting.plot_diagnostic(run, "order").axes[0]
    (line,) = (line for line in ax.lines if line.get_gid() == "order")
    np.testing.assert_array_equal(line.get_ydata(), run.diagnostics["order"])
    assert ax.get_title("left") == ORDER.meaning
    with pytest.raises(ValueError, match=r"'ordre'.*did you mean 'order'"):
        plotting.plot_diagnostic(run, "ordre")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([Diagnostic("mass", "m", "1", order_parameter)], "'mass' is recorded anyway"),
        ([ORDER, ORDER], "'order' is recorded anyway"),
        ([order_parameter], "it takes Diagnostic"),
        (3.0, "diagnostics holds 3"),
    ],
)
def test_a_name_that_is_taken_or_no_record_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        mfpde.solve(EQUATION, START, t_end=1.0, diagnostics=given)


def test_what_is_no_observer_is_refused() -> None:
    with pytest.raises(ValueError, match="must be an Observer"):
        mfpde.solve(EQUATION, START, t_end=1.0, observer=print)


def test_an_observer_sees_the_run_and_changes_nothing(run: mfpde.Run) -> None:
    class Seen(Observer):
        def begin(self, quantities, tracker, events):
            self.quantities, self.times = quantities, []

        def save(self, time, measure, diagnostics):
            self.times.append(time)

        def finish(self, run):
            self.run = run

    seen = Seen()
    again = mfpde.solve(
        EQUATION,
        START,
        t_end=1.0,
        save_every=0.5,
        diagnostics=[ORDER],
        observer=seen,
    )
    assert seen.run is again
    assert seen.times == run.times.tolist()
    assert seen.quantities == run.quantities
    np.testing.assert_array_equal(again.final.density.values, run.final.density.values)
