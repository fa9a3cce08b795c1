"""Peaks of a density, where atoms may form: symmetry must not hide them."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde.atoms.cells import find_peaks


@pytest.mark.parametrize("pole", [1.0, -1.0])
def test_a_bump_symmetric_about_a_pole_has_one_peak(pole: float) -> None:
    """All cells of the first ring are equally dense."""
    sphere = mfpde.Sphere(32)
    bump = mfpde.Density.from_function(
        sphere, lambda x: np.exp(100 * (pole * x[..., 2] - 1))
    )
    # Equal to the last digit, as symmetric flows leave it.
    values = np.repeat(bump.values[:, :1], sphere.nlon, axis=1)
    found = find_peaks(sphere, (values * sphere.areas).ravel(), 1e-4)
    assert len(found) == 1
    assert found[0] // sphere.nlon == (0 if pole > 0 else 31)


@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_a_bump_symmetric_about_a_centre_or_a_face_has_one_peak(turn: float) -> None:
    circle = mfpde.Circle(64)
    away = np.arange(64) + turn - 32
    masses = np.exp(-0.5 * (away / 1.5) ** 2)
    assert len(find_peaks(circle, masses / masses.sum(), 1e-4)) == 1


def test_a_uniform_density_has_none() -> None:
    for geometry in (mfpde.Circle(64), mfpde.Sphere(32)):
        masses = mfpde.uniform(geometry).masses.ravel()
        assert len(find_peaks(geometry, masses, 1e-4)) == 0
