"""The picture of a verdict shows what the report says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import mfpde
from validation import verdict_shapes as shapes


def drawn(figure: Figure) -> list[str]:
    """All texts of a figure."""
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(Text)]


def atom_and_dead_half(geometry):
    axis = np.eye(geometry.dimension)[-1]
    equation = shapes.neuron(axis, 1.0)
    away = shapes.distance(geometry.points, axis)
    values = np.where(away < np.pi / 2, 1e-3, 1.0) + 500 * np.exp(
        -((away / (0.6 * geometry.spacing)) ** 2) / 2
    )
    return mfpde.Density(geometry, values).normalized(), equation


@pytest.mark.parametrize(
    "geometry", [mfpde.Circle(128), mfpde.Sphere(48), mfpde.Zonal(3, 96)]
)
def test_a_verdict_is_drawn_with_its_numbers(geometry) -> None:
    density, equation = atom_and_dead_half(geometry)
    report = mfpde.concentration(density, equation)
    assert report.verdict == "atoms"
    figure = mfpde.plot_concentration(report, equation)
    texts = drawn(figure)
    assert any(text.startswith("atoms: 1 atom") for text in texts)
    numbers = str(report).splitlines()[1:]
    assert f"{report.of_kinds('atom')[0].pinning_force:.2e}" in numbers[1]
    assert any("\n".join(numbers) in text for text in texts)
    assert any(f"frozen mass {report.frozen_mass:.4f}" in text for text in texts)
    shown = [a for a in figure.findobj() if a.get_gid() == "exponent"]
    exponents = [float(a.get_text()) for a in shown]
    np.testing.assert_allclose(exponents, np.maximum(report.exponents, 0), atol=6e-3)
    marks = [a for a in figure.findobj() if a.get_gid() == "region"]
    assert "atom" in [mark.get_text() for mark in marks]
    assert any(a.get_gid() == "jump" for a in figure.findobj())


def test_a_measure_is_looked_at_first() -> None:
    density, equation = atom_and_dead_half(mfpde.Circle(128))
    texts = drawn(mfpde.plot_concentration(density, equation))
    assert texts == drawn(
        mfpde.plot_concentration(mfpde.concentration(density, equation), equation)
    )


def test_atoms_without_a_grid_have_a_picture_too() -> None:
    atoms = mfpde.Atoms(shapes.on_circle(0.3, 2.0), [0.6, 0.4])
    figure = mfpde.plot_concentration(atoms, shapes.attention(9.0))
    texts = drawn(figure)
    assert any("0.600000" in text for text in texts)
    assert "no grid" in texts
