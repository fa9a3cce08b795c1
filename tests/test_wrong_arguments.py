"""Arguments of the wrong kind: an error in a line, before any work."""

import numpy as np
import pytest

import mfpde

CIRCLE = mfpde.Circle(32)
UNIFORM = mfpde.uniform(CIRCLE)
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
RUN = mfpde.solve(EQUATION, UNIFORM, t_end=0.1)


@pytest.mark.parametrize("make", [lambda s: s, lambda s: (s,), lambda s: [s]])
def test_stop_takes_one_condition_or_several(make) -> None:
    run = mfpde.solve(EQUATION, UNIFORM, t_end=9.0, stop=make(mfpde.StepLimit(3)))
    assert run.stop.kind == "step_limit"
    assert run.statistics["steps"] == 3


@pytest.mark.parametrize("stop", ["steady", 3, [mfpde.SteadyState(1e-3), None]])
def test_other_things_stop_nothing(stop) -> None:
    with pytest.raises(ValueError, match=r"stop holds .* SteadyState, StepLimit"):
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, stop=stop)


def test_an_observer_takes_no_name_that_is_recorded_anyway() -> None:
    with pytest.raises(ValueError, match=r"'mass' is recorded anyway .* 'my_mass'"):
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, observe={"mass": lambda m: 0.0})
    with pytest.raises(ValueError, match=r"observe\['mean'\] = 3 must be a function"):
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, observe={"mean": 3})


def test_complex_values_are_no_density() -> None:
    with pytest.raises(ValueError, match=r"complex numbers .* take its \.real"):
        mfpde.Density(CIRCLE, np.full(32, 1 + 1e-12j))


@pytest.mark.parametrize(
    "make", [lambda: mfpde.Circle(10**10), lambda: mfpde.Zonal(4, 10**7)]
)
def test_grids_that_no_memory_holds(make) -> None:
    with pytest.raises(ValueError, match=r"num_cells = 10+ must be at most"):
        make()


def test_a_sphere_that_no_memory_holds() -> None:
    with pytest.raises(ValueError, match=r"nlat = 1000000 must be at most"):
        mfpde.Sphere(10**6)


def test_an_unlike_name_is_not_suggested() -> None:
    with pytest.raises(ValueError, match=r"'silu' must be one of 'relu'"):
        mfpde.Perceptron(np.eye(2), [1.0, 1.0], "silu")
    with pytest.raises(ValueError, match=r"'rellu' .did you mean 'relu'"):
        mfpde.Perceptron(np.eye(2), [1.0, 1.0], "rellu")


@pytest.mark.parametrize(
    "call",
    [
        lambda: mfpde.solve(EQUATION, RUN, t_end=1.0),
        lambda: mfpde.solve(RUN, UNIFORM, t_end=1.0),
        lambda: mfpde.solve_particles(EQUATION, RUN, t_end=1.0),
        lambda: mfpde.concentration(RUN, EQUATION),
        lambda: mfpde.polish(EQUATION, RUN),
        lambda: mfpde.wasserstein(RUN, UNIFORM),
    ],
)
def test_a_run_given_for_something_else_is_not_printed_whole(call) -> None:
    with pytest.raises(ValueError, match="= <Run of ") as caught:
        call()
    assert len(str(caught.value)) < 400
