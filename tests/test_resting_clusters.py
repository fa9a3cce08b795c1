"""Clusters at rest and on their way in basins that the cells of S^2 do not resolve."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from validation import verdict_shapes as shapes


@pytest.mark.parametrize("beta", [15.0, 25.0])
def test_two_clusters_at_rest_are_two_atoms(beta) -> None:
    """The lighter beside two kinks, in a basin that cells do not resolve.

    1500 particles: masses 0.792 and 0.208 (15), 0.793 and 0.207 (25), 1.63 radians apart.
    """
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta),
        mfpde.Perceptron.random(3, 3, seed=111, activation="relu"),
        direction="ascent",
    )
    run = mfpde.solve(
        equation, mfpde.uniform(mfpde.Sphere(64)), t_end=100.0, save_at=[100.0]
    )
    heavy, light = mfpde.concentration(run.final, equation).of_kinds("atom")
    assert heavy.mass == pytest.approx(0.79, abs=0.01)
    assert light.mass == pytest.approx(0.21, abs=0.01)
    assert heavy.core_mass == pytest.approx(heavy.mass, abs=2e-3)
    assert light.core_mass == pytest.approx(light.mass, abs=2e-3)
    apart = np.arccos(heavy.position @ light.position)
    assert apart == pytest.approx(1.63, abs=1.5 * np.pi / 64)


def test_a_light_cluster_on_its_way_is_told_from_the_core() -> None:
    """A tenth of the mass slides along a ridge of s F to the rest."""
    sphere = mfpde.Sphere(64)
    top, beside = np.eye(3)[:2]
    place = (top + 1.2 * beside) / np.hypot(1.0, 1.2)
    width = 0.5 * sphere.spacing
    values = 0.1 * shapes.bump(sphere, place, width) + 0.9 * shapes.bump(
        sphere, top, width
    )
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(25.0),
        mfpde.Perceptron(np.stack([top, beside]), [1.0, 0.9], "linear"),
        direction="ascent",
    )
    report = mfpde.concentration(mfpde.Density(sphere, values).normalized(), equation)
    (region,) = report.clusters
    assert region.kind == "forming"
    assert region.core_mass == pytest.approx(0.9, abs=1e-3)
    assert region.second_peak == pytest.approx(0.1, abs=1e-3)
    assert "0.1000" in report.summary
