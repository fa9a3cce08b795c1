"""Each wrong argument is refused before any work, with its name, value and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde

CIRCLE = mfpde.Circle(64)
UNIFORM = mfpde.uniform(CIRCLE)
ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")


@pytest.mark.parametrize("beta", [-1.0, 1001.0, np.nan, np.inf, "5", None, True])
def test_beta(beta: object) -> None:
    with pytest.raises(
        ValueError, match=r"beta = .* at least 0 and at most 1000|beta ="
    ):
        mfpde.Attention(beta)  # type: ignore[arg-type]


def test_kernel() -> None:
    with pytest.raises(
        ValueError, match=r"kernel = 'shiftd' \(did you mean 'shifted'\?\)"
    ):
        mfpde.Attention(1.0, kernel="shiftd")  # type: ignore[arg-type]


def test_unshifted_beta_that_overflows() -> None:
    with pytest.raises(ValueError, match=r"beta = 1000 with kernel='unshifted'.*350"):
        mfpde.Attention(1000.0, kernel="unshifted")


def test_normalized() -> None:
    with pytest.raises(ValueError, match="normalized = 'yes' must be True or False"):
        mfpde.Attention(1.0, normalized="yes")  # type: ignore[arg-type]


def test_weights_and_directions_of_different_lengths() -> None:
    with pytest.raises(ValueError, match=r"weights of shape \(3,\).*2 directions"):
        mfpde.Perceptron([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0, 3.0])


def test_biases_of_wrong_length() -> None:
    with pytest.raises(ValueError, match=r"biases of shape \(2,\).*1 directions"):
        mfpde.Perceptron([[1.0, 0.0]], [1.0], biases=[0.0, 1.0])


def test_zero_direction() -> None:
    with pytest.raises(ValueError, match=r"directions\[1\] = \[0.0, 0.0\] is zero"):
        mfpde.Perceptron([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=r"directions\[0, 1\] = .* must be finite"):
        mfpde.Perceptron([[1.0, bad]], [1.0])
    with pytest.raises(ValueError, match=r"weights\[0\] = .* must be finite"):
        mfpde.Perceptron([[1.0, 0.0]], [bad])
    with pytest.raises(
        ValueError, match=r"function\(points\)\[0\] = .* must be finite"
    ):
        mfpde.Density.from_function(CIRCLE, lambda x: bad * np.ones(len(x)))


def test_directions_without_shape() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\) must have shape \(units, d\)"):
        mfpde.Perceptron([1.0, 0.0], [1.0])  # type: ignore[arg-type]


def test_unknown_activation() -> None:
    with pytest.raises(
        ValueError, match=r"activation = 'rellu' \(did you mean 'relu'\?\)"
    ):
        mfpde.Perceptron([[1.0, 0.0]], [1.0], "rellu")


def test_pair_whose_primitive_is_wrong() -> None:
    with pytest.raises(ValueError, match="needs Phi' = sigma"):
        mfpde.Perceptron([[1.0, 0.0]], [1.0], (np.tanh, np.tanh))


def test_pair_whose_primitive_is_not_zero_at_zero() -> None:
    pair = (np.sin, lambda z: -np.cos(z))
    with pytest.raises(ValueError, match=r"Phi\(0\) = -1 must be 0"):
        mfpde.Perceptron([[1.0, 0.0]], [1.0], pair)


def test_wrong_dimension() -> None:
    equation = mfpde.MeanFieldEquation(
        mfpde.Perceptron([[1.0, 0.0, 0.0]], [1.0]), direction="ascent"
    )
    with pytest.raises(ValueError, match=r"directions have 3 entries.*S\^1"):
        mfpde.solve(equation, UNIFORM, t_end=1.0)


def test_terms_of_different_dimensions() -> None:
    flat = mfpde.Perceptron([[1.0, 0.0]], [1.0])
    solid = mfpde.Perceptron([[1.0, 0.0, 0.0]], [1.0])
    with pytest.raises(ValueError, match=r"different dimensions: \[2, 3\]"):
        mfpde.MeanFieldEquation(flat, solid, direction="ascent")


def test_gradient_that_is_not_the_slope_of_the_value() -> None:
    with pytest.raises(ValueError, match=r"gradient: at x = .* the slope of value"):
        mfpde.Potential(lambda x: x[..., 0], lambda x: 2 * np.ones_like(x))


def test_direction() -> None:
    with pytest.raises(
        ValueError, match=r"direction = 'up' must be one of 'ascent', 'd"
    ):
        mfpde.MeanFieldEquation(mfpde.Attention(1.0), direction="up")


def test_diffusion() -> None:
    with pytest.raises(ValueError, match=r"diffusion = -0.1 .* at least 0"):
        mfpde.MeanFieldEquation(
            mfpde.Attention(1.0), direction="ascent", diffusion=-0.1
        )


def test_no_term_and_no_such_term() -> None:
    with pytest.raises(ValueError, match="at least one term"):
        mfpde.MeanFieldEquation(direction="ascent")
    with pytest.raises(ValueError, match=r"term 0 = 5 must be an Attention"):
        mfpde.MeanFieldEquation(5, direction="ascent")  # type: ignore[arg-type]


@pytest.mark.parametrize("t_end", [0.0, -1.0, np.nan, np.inf, "10"])
def test_end_time(t_end: object) -> None:
    with pytest.raises(ValueError, match="t_end = "):
        mfpde.solve(ASCENT, UNIFORM, t_end=t_end)  # type: ignore[arg-type]


def test_too_few_cells_for_beta_names_the_number_needed() -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(100.0), direction="ascent")
    with pytest.raises(
        ValueError, match=r"too coarse for beta = 100.*at least (\d+) cells"
    ) as info:
        mfpde.solve(equation, UNIFORM, t_end=1.0)
    needed = int(str(info.value).split("at least ")[1].split()[0])
    fine = mfpde.uniform(mfpde.Circle(needed))
    assert mfpde.solve(equation, fine, t_end=0.1).stop.kind == "t_end"
    with pytest.raises(ValueError, match="too coarse"):
        mfpde.solve(equation, mfpde.uniform(mfpde.Circle(needed - 2)), t_end=0.1)


@pytest.mark.parametrize("num_cells", [0, 15, -4, 64.0, "64"])
def test_number_of_cells(num_cells: object) -> None:
    with pytest.raises(ValueError, match=r"num_cells = .* at least 16"):
        mfpde.Circle(num_cells)  # type: ignore[arg-type]


def test_density_values() -> None:
    with pytest.raises(ValueError, match=r"values of shape \(3,\) do not fit Circle"):
        mfpde.Density(CIRCLE, np.ones(3))
    with pytest.raises(ValueError, match=r"values\[5\] = -1 must not be negative"):
        mfpde.Density(CIRCLE, np.where(np.arange(64) == 5, -1.0, 1.0))
    with pytest.raises(ValueError, match="total mass 0"):
        mfpde.Density.from_function(CIRCLE, lambda x: 0 * x[..., 0])


def test_atoms() -> None:
    with pytest.raises(ValueError, match=r"points\[1\] has length 2"):
        mfpde.Atoms([[1.0, 0.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match=r"masses\[0\] = 0 must be above 0"):
        mfpde.Atoms([[1.0, 0.0]], [0.0])
    with pytest.raises(ValueError, match="do not match"):
        mfpde.Atoms([[1.0, 0.0]], [0.5, 0.5])
    with pytest.raises(ValueError, match="dimension 3"):
        mfpde.Measure(UNIFORM, mfpde.Atoms([[1.0, 0.0, 0.0]]))


def test_start_must_be_a_probability_on_a_grid() -> None:
    with pytest.raises(ValueError, match="total mass 2"):
        mfpde.solve(ASCENT, mfpde.Density(CIRCLE, 2 * UNIFORM.values), t_end=1.0)
    with pytest.raises(ValueError, match="atoms alone have no grid"):
        mfpde.solve(ASCENT, mfpde.Atoms([[1.0, 0.0]]), t_end=1.0)
    with pytest.raises(ValueError, match="must be a Density, Atoms or a Measure"):
        mfpde.solve(ASCENT, np.ones(64), t_end=1.0)  # type: ignore[arg-type]


def test_atoms_with_diffusion() -> None:
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(2.0), direction="ascent", diffusion=0.1
    )
    half = mfpde.Density(CIRCLE, UNIFORM.values / 2)
    start = mfpde.Measure(half, mfpde.Atoms([[1.0, 0.0]], [0.5]))
    with pytest.raises(ValueError, match="dissolves atoms at once"):
        mfpde.solve(equation, start, t_end=1.0)


@pytest.mark.parametrize("amplitude", [-0.1, 1.0])
def test_amplitude(amplitude: float) -> None:
    with pytest.raises(ValueError, match="amplitude = "):
        mfpde.perturbed_uniform(CIRCLE, amplitude)


def test_solver_options() -> None:
    with pytest.raises(
        ValueError, match=r"'donor_blend' \(did you mean 'donor_blended'"
    ):
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, transport="donor_blend")
    with pytest.raises(ValueError, match="rtol = 0"):
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, rtol=0.0)
    with pytest.raises(ValueError, match="max_step = -1"):
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, max_step=-1.0)
    with pytest.raises(ValueError, match="stop holds 5"):
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, stop=[5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="save_at"):
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, save_at=[2.0])
    with pytest.raises(ValueError, match="save_every"):
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, save_every=0.1, save_at=[0.5])


@pytest.mark.parametrize(
    ("condition", "match"),
    [
        (lambda: mfpde.SteadyState(0.0), "tolerance = 0.0"),
        (lambda: mfpde.StepLimit(0), "steps = 0"),
        (lambda: mfpde.WallTimeLimit(-1.0), "seconds = -1.0"),
    ],
)
def test_stopping_conditions(condition: object, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        condition()  # type: ignore[operator]


def test_interpolation_to_a_coarser_grid() -> None:
    with pytest.raises(ValueError, match="finer geometry = Circle"):
        UNIFORM.interpolated(mfpde.Circle(32))
