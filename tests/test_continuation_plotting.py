"""Pictures of branches and spectra, and ``mfpde continuation``."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import by_gid

import mfpde
from mfpde.commands.command_line import main

CONFIG = """
[geometry]
kind = "circle"
cells = 64

[attention]
beta = 10.0

[perceptron]
directions = [[1.0, 0.0]]
weights = [-1.0]

[equation]
direction = "descent"

[start]
kind = "uniform"

[solve]
t_end = 1.0
"""


def vertices(lines):
    return {point for line in lines for point in zip(*line.get_data(), strict=True)}


@pytest.fixture(scope="module")
def ladder():
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(10.0),
        mfpde.Perceptron([[0.0, 1.0]], [-1.0]),
        direction="descent",
    )
    return mfpde.continuation(
        equation, mfpde.Atoms([[0.0, 1.0]]), "weight_scale", [1.2, 0.9, 0.6]
    )


def test_atoms_are_drawn_where_they_are(ladder):
    figure = mfpde.plot_continuation(ladder)
    offsets = np.concatenate([a.get_offsets() for a in by_gid(figure, "states")])
    expected = [
        (value, np.arctan2(y, x) / np.pi)
        for value, state in zip(ladder.values, ladder.states, strict=True)
        for x, y in state.atoms.points
    ]
    np.testing.assert_allclose(np.sort(offsets, axis=0), np.sort(expected, axis=0))
    (mark,) = by_gid(figure, "split")[:1]
    np.testing.assert_allclose(np.transpose(mark.get_data()), [[1.0, 0.5]], atol=1e-7)


@pytest.fixture(scope="module")
def folded():
    """Hysteresis: an ordered state up to its fold, back to the uniform one, and on."""
    circle, values = mfpde.Circle(96), [0.02, 0.03, 0.035, 0.04]
    equation = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="ascent")
    bump = mfpde.Density.from_function(circle, lambda x: np.exp(15 * x[..., 0]))
    start = mfpde.continuation(equation, bump, "diffusion", values[:2]).states[0]
    return mfpde.continuation(equation, start.density, "diffusion", values)


def test_a_branch_is_drawn_as_a_curve_with_its_events_on_it(folded):
    figure = mfpde.plot_continuation(folded)
    stable, unstable = by_gid(figure, "branch"), by_gid(figure, "unstable branch")
    assert all(line.get_linestyle() == "-" for line in stable)
    assert all(line.get_linestyle() == "--" for line in unstable)
    fold, pitchfork = folded.events
    # Ordered and stable, ordered and unstable, uniform.
    assert [line.get_xdata()[0] for line in stable] == [0.02, pitchfork.value]
    (middle,) = unstable
    assert middle.get_xdata()[[0, -1]] == pytest.approx([fold.value, pitchfork.value])
    assert middle.get_ydata()[-1] == pytest.approx(0.0, abs=1e-6)
    for event in folded.events:
        (mark,) = by_gid(figure, event.kind)
        assert vertices([mark]) <= vertices(stable) | vertices(unstable)


def test_the_curve_has_no_corners_and_no_gaps(folded):
    """Its vertices in units of the axes: close, and turning little from one to the next."""
    figure = mfpde.plot_continuation(folded)
    lines = by_gid(figure, "branch")[:1] + by_gid(figure, "unstable branch")
    points = np.concatenate([np.transpose(line.get_data()) for line in lines])
    points = points[np.append(True, np.abs(np.diff(points, axis=0)).max(axis=1) > 0)]
    steps = np.diff(points / np.array([0.02, 1.0]), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    assert lengths.max() < 0.15
    long = steps[lengths > 1e-3]
    turns = np.diff(np.unwrap(np.arctan2(long[:, 1], long[:, 0])))
    assert np.abs(turns).max() < 0.5


def test_the_command_prints_and_draws_a_branch(tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    figure = tmp_path / "branch.pdf"
    command = ["continuation", str(config), "--parameter", "weight_scale"]
    assert main([*command, "--values", "1.3:0.8:3", "--figure", str(figure)]) == 0
    printed = capsys.readouterr().out
    assert "split: an atom splits" in printed
    assert figure.exists()
    for wrong in ("one,two", "5:20:0", "5:20:-1", "5:20:1000000000000"):
        assert main([*command, "--values", wrong]) == 2
        assert "first:last:count" in capsys.readouterr().err


def test_the_command_follows_densities_with_diffusion(tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    command = ["continuation", str(config), "--parameter", "diffusion"]
    assert main([*command, "--values", "0.5,0.4", "--set", "attention.beta=1.0"]) == 0
    assert "|mean x|" in capsys.readouterr().out
