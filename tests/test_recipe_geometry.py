"""A new geometry is one class: it solves, prints, is saved, loaded and drawn."""

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pytest

import mfpde
from mfpde.plotting import plot_run

mpl.use("Agg")


@dataclass(frozen=True)
class TurnedCircle(mfpde.Circle):
    """A circle whose cells are turned by ``share`` of a cell against those of ``Circle``."""

    share: float = 0.5

    @property
    def first_face(self) -> float:
        """Angle at which cell 0 begins."""
        return self.share * self.spacing


EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(4.0), mfpde.Perceptron.random(3, 2, seed=5), direction="ascent"
)


def smooth(points):
    return np.exp(points[..., 0] + 0.5 * points[..., 1] ** 2)


@pytest.fixture(scope="module")
def run():
    start = mfpde.Density.from_function(TurnedCircle(128, 0.3), smooth)
    return mfpde.solve(EQUATION, start, t_end=0.5, save_every=0.25)


def test_moments_and_fields_are_those_of_the_turned_centres():
    turned = TurnedCircle(64, 0.3)
    masses = np.random.default_rng(0).random(64)
    moments = turned.moments(masses, 20)
    expected = turned.atom_moments(turned.points, masses, 20)
    np.testing.assert_allclose(moments, expected, atol=1e-12)
    field = turned.field_at(moments, turned.points)
    np.testing.assert_allclose(turned.synthesis(moments), field.values, atol=1e-11)
    turns = turned.face_angles
    faces = turned.field_at(moments, np.stack([np.cos(turns), np.sin(turns)], axis=-1))
    np.testing.assert_allclose(
        turned.faces.synthesis(moments), faces.values, atol=1e-11
    )
    for cell in (0, 17, 63):
        near = turned.cells_about(turned.points[[cell]], 0.6 * turned.spacing).cells
        assert near.tolist() == [cell]


def difference(cells):
    """Largest difference of moments after a run on a turned and on a plain circle."""
    moments = []
    for circle in (TurnedCircle(cells, 0.3), mfpde.Circle(cells)):
        start = mfpde.Density.from_function(circle, smooth)
        end = mfpde.solve(EQUATION, start, t_end=0.5, save_every=0.5).final.density
        moments.append(circle.moments(end.masses, 10))
    return np.abs(moments[0] - moments[1]).max()


def test_runs_converge_to_those_on_the_plain_circle():
    assert difference(256) < difference(64) / 10


def test_distances_see_the_turn():
    circle, half = mfpde.Circle(32), TurnedCircle(32, 0.5)
    values = np.zeros(32)
    values[31] = 1.0
    one = mfpde.Density(circle, values).normalized()
    other = mfpde.Density(half, values).normalized()
    assert mfpde.wasserstein(one, other) == pytest.approx(circle.spacing / 2, abs=1e-12)


def test_it_prints(run):
    assert "TurnedCircle(num_cells=128, share=0.3)" in repr(run.final)
    assert "mass" in str(run)
    assert mfpde.concentration(run.final, EQUATION).verdict


def test_it_is_saved_and_loaded(run, tmp_path):
    mfpde.save(run, tmp_path / "run.zarr")
    loaded = mfpde.load(tmp_path / "run.zarr")
    assert loaded.final.density.geometry == TurnedCircle(128, 0.3)
    np.testing.assert_array_equal(loaded.final.density.values, run.final.density.values)


def test_it_is_drawn(run, tmp_path):
    figure = plot_run(run)
    figure.savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 0
