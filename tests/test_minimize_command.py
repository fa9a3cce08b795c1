"""``mfpde minimize`` and the picture of a certificate."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde.commands.command_line import main

CONFIG = """
[geometry]
kind = "circle"
cells = 128

[attention]
beta = 10.0

[perceptron]
directions = [[1.0, 0.0]]
weights = [-0.5]

[equation]
direction = "descent"

[start]
kind = "uniform"

[solve]
t_end = 1.0
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return str(path)


def drawn(figure, name):
    return [a for ax in figure.axes for a in ax.findobj() if a.get_gid() == name]


def test_the_command_prints_what_the_function_finds(config, capsys, tmp_path):
    figure = tmp_path / "minimum.pdf"
    assert main(["minimize", config, "--figure", str(figure)]) == 0
    printed = capsys.readouterr().out
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(10.0),
        mfpde.Perceptron([[1.0, 0.0]], [-0.5]),
        direction="descent",
    )
    found = mfpde.minimize(equation, mfpde.Circle(128))
    assert str(found) in printed
    assert figure.exists()
    assert figure.with_suffix(".png").exists()


def test_settings_can_be_changed(config, capsys):
    assert main(["minimize", config, "--set", "perceptron.weights=[-2.0]"]) == 0
    assert "1.00000000" in capsys.readouterr().out


def test_what_has_no_minimum_is_a_bad_setting(config, capsys):
    code = main(["minimize", config, "--set", 'equation.direction="ascent"'])
    assert code == 2
    assert "direction = 'ascent'" in capsys.readouterr().err


def test_a_gap_that_is_not_reached_is_a_numerical_failure(config, capsys):
    assert main(["minimize", config, "--tolerance", "1e-30"]) == 3
    assert "above the minimum" in capsys.readouterr().out


def test_the_curve_touches_the_floor_at_the_atoms():
    neurons = mfpde.Perceptron.random(4, 2, seed=1, scale=0.3)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(10.0), neurons, direction="descent"
    )
    found = mfpde.minimize(equation, mfpde.Circle(128))
    figure = mfpde.plot_certificate(found)
    (line,) = drawn(figure, "first variation")
    (floor,) = drawn(figure, "floor")
    (atoms,) = drawn(figure, "atoms")
    level = floor.get_ydata()[0]
    assert level == found.certificate.floor
    assert (line.get_ydata() >= level - 1e-12).all()
    angles, values = line.get_data()
    for angle, height in atoms.get_offsets():
        assert height == level
        assert np.interp(angle, angles, values) == pytest.approx(level, abs=1e-5)


@pytest.mark.parametrize("weight", [None, -0.3, -1.5])
def test_the_map_is_drawn_for_every_kind(weight):
    terms = () if weight is None else (mfpde.Perceptron([[0.6, 0.0, 0.8]], [weight]),)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(20.0), *terms, direction="descent"
    )
    found = mfpde.minimize(equation, mfpde.Sphere(48))
    figure = mfpde.plot_certificate(found)
    assert len(drawn(figure, "distance")) == 1
    # The points of a ring are a crowd.
    points = drawn(figure, "atoms") + drawn(figure, "particles")
    assert bool(points) == (found.kind != "density")
    assert found.kind in figure.get_suptitle()
    figure.draw_without_rendering()


def test_a_density_is_drawn_on_the_circle():
    equation = mfpde.MeanFieldEquation(mfpde.Attention(3.0), direction="descent")
    figure = mfpde.plot_certificate(mfpde.minimize(equation, mfpde.Circle(64)))
    assert not drawn(figure, "atoms")
    figure.draw_without_rendering()
