"""The time loop: saves, stops, observers, continuation, what a run says of itself."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent
from hypothesis import given, settings
from hypothesis import strategies as st

import mfpde
from mfpde.settings import settings_from_dict
from validation.circle_cases import cosine_potential, density_of

CIRCLE = mfpde.Circle(128)
ASCENT = ascent(mfpde.Attention(4.0))
START = mfpde.perturbed_uniform(CIRCLE, 0.3, seed=5)


def test_saves_are_where_they_were_asked_for() -> None:
    every = mfpde.solve(ASCENT, START, t_end=1.0, save_every=0.3)
    np.testing.assert_allclose(every.times, [0, 0.3, 0.6, 0.9, 1.0])
    at = mfpde.solve(ASCENT, START, t_end=1.0, save_at=[0.25, 0.5])
    np.testing.assert_array_equal(at.times, [0.25, 0.5])
    assert at.final_time == 1.0
    assert len(mfpde.solve(ASCENT, START, t_end=1.0).times) == 51


def test_tolerance_controls_the_error_in_time() -> None:
    reference, *finals = (
        mfpde.solve(ASCENT, START, t_end=3.0, save_at=[3.0], rtol=rtol).final
        for rtol in (1e-9, 1e-3, 1e-5, 1e-7)
    )
    errors = [mfpde.wasserstein(final, reference) for final in finals]
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] < 1e-4


def test_a_run_continued_is_the_run() -> None:
    whole = mfpde.solve(ASCENT, START, t_end=4.0, save_every=1.0)
    half = mfpde.solve(ASCENT, START, t_end=2.0, save_every=1.0)
    rest = mfpde.solve(
        ASCENT, half.final, t_end=4.0, save_at=[3.0, 4.0], start_time=2.0
    )
    np.testing.assert_array_equal(rest.times, [3.0, 4.0])
    assert mfpde.wasserstein(rest.final, whole.final) < 1e-6


def test_observers_and_saves_see_each_saved_state() -> None:
    seen: list[float] = []

    class Seen(mfpde.Observer):
        def save(self, time: float, *_: object) -> None:
            seen.append(time)

    run = mfpde.solve(
        ASCENT,
        START,
        t_end=1.0,
        save_every=0.5,
        observe={"first_moment": lambda m: np.cos(CIRCLE.angles) @ m.density.masses},
        observer=Seen(),
    )
    expected = [np.cos(CIRCLE.angles) @ state.density.masses for state in run.states]
    np.testing.assert_allclose(run.diagnostics["first_moment"], expected)
    np.testing.assert_array_equal(seen, run.times)
    with pytest.raises(ValueError, match="read-only"):
        run.states[0].density.values[0] = 1.0


def test_diagnostics_are_what_they_say() -> None:
    run = mfpde.solve(ASCENT, START, t_end=1.0, save_every=0.5)
    last = run.states[-1]
    assert run.diagnostics["mass"][-1] == last.total_mass
    assert run.diagnostics["minimum"][-1] == last.density.values.min()
    assert run.diagnostics["largest_density"][-1] == last.density.values.max()
    assert run.energies[-1] == pytest.approx(ASCENT.energy(last), rel=1e-14)
    speed = np.linalg.norm(ASCENT.velocity(last), axis=-1)
    assert run.diagnostics["dissipation"][-1] == pytest.approx(
        speed**2 @ last.density.masses
    )


def test_steady_state_is_found_in_the_solution() -> None:
    equation = ascent(cosine_potential(1.0), diffusion=0.5)
    run = mfpde.solve(
        equation, mfpde.uniform(CIRCLE), t_end=1e3, stop=[mfpde.SteadyState(1e-8)]
    )
    assert run.stop.kind == "steady_state"
    assert run.final_time < 100
    weights = np.exp(2 * np.cos(CIRCLE.angles))
    gibbs = density_of(CIRCLE, weights)
    assert mfpde.wasserstein(run.final, gibbs) < 1e-3
    assert "tolerance" in run.reason
    free = [equation.lyapunov_function(state) for state in run.states]
    assert (np.diff(free) < 1e-12).all()


def test_an_unstable_state_that_is_being_left_is_not_steady() -> None:
    start = mfpde.perturbed_uniform(CIRCLE, 1e-9)
    run = mfpde.solve(ASCENT, start, t_end=20.0, stop=[mfpde.SteadyState(1e-6)])
    assert run.stop.kind == "t_end"


def test_the_uniform_state_itself_is_steady() -> None:
    run = mfpde.solve(
        ASCENT, mfpde.uniform(CIRCLE), t_end=10.0, stop=[mfpde.SteadyState()]
    )
    assert run.stop.kind == "steady_state"
    assert "perturbed" in run.reason


def test_step_and_wall_time_limits() -> None:
    limit = mfpde.StepLimit(7)
    for stop in (limit, (limit,), [limit]):
        run = mfpde.solve(ASCENT, START, t_end=100.0, stop=stop)
        assert (run.stop.kind, run.statistics["steps"]) == ("step_limit", 7)
        assert "run.final" in run.reason
    run = mfpde.solve(ASCENT, START, t_end=1e9, stop=[mfpde.WallTimeLimit(0.05)])
    assert run.stop.kind == "wall_time_limit"


@pytest.mark.parametrize(
    ("strength", "kind"), [(1e308, "non_finite"), (1e200, "step_too_small")]
)
def test_a_hopeless_run_stops_with_its_last_state(strength: float, kind: str) -> None:
    def gradient(x: np.ndarray) -> np.ndarray:
        return strength * np.broadcast_to([1.0, 0.0], x.shape)

    with np.errstate(all="ignore"):
        potential = mfpde.Potential(
            lambda x: strength * x[..., 0], gradient, dimension=2
        )
        equation = ascent(potential)
        run = mfpde.solve(equation, mfpde.uniform(CIRCLE), t_end=1.0, save_at=[1.0])
    assert run.stop.kind == kind
    assert np.isfinite(run.final.density.values).all()
    assert abs(run.final.total_mass - 1) < 1e-12


def test_an_interrupted_run_keeps_what_it_saved() -> None:
    class Interrupt(mfpde.Observer):
        def save(self, time: float, *_: object) -> None:
            if time >= 1.0:
                raise KeyboardInterrupt

    run = mfpde.solve(ASCENT, START, t_end=5.0, save_every=0.5, observer=Interrupt())
    assert run.stop.kind == "interrupted"
    np.testing.assert_allclose(run.times, [0, 0.5, 1.0])
    assert abs(run.final.total_mass - 1) < 1e-14


def save_times(t_end: float, **saves: object) -> np.ndarray:
    """The times of a run that settings describe."""
    tables = {
        "geometry": {"kind": "circle", "cells": 64},
        "attention": {"beta": 1.0},
        "equation": {"direction": "ascent"},
        "start": {"kind": "uniform"},
    }
    return settings_from_dict(
        {**tables, "solve": {"t_end": t_end, **saves}}
    ).save_times()


@pytest.mark.filterwarnings("error")
def test_atoms_alone_need_no_fine_grid() -> None:
    empty = mfpde.Density(mfpde.Circle(128), np.zeros(128))
    start = mfpde.Measure(empty, mfpde.Atoms(np.eye(2)))
    run = mfpde.solve(ascent(4.0), start, t_end=0.1, atoms="exact")
    assert len(run.final.atoms) == 2


@settings(deadline=None, max_examples=40)
@given(
    t_end=st.floats(1e-3, 1e6),
    intervals=st.floats(0.1, 3000.0),
    count=st.integers(1, 5000),
)
def test_regular_saves_go_from_zero_to_the_end(t_end, intervals, count) -> None:
    """A whole number of intervals gives no extra save, given times are kept to the bit."""
    every = t_end / intervals
    times = save_times(t_end, save_every=every)
    assert (times[0], times[-1]) == (0.0, t_end)
    gaps = np.diff(times)
    assert (gaps > 0).all()
    assert (gaps <= every * (1 + 1e-6)).all()
    np.testing.assert_allclose(gaps[:-1], every, rtol=1e-9)
    assert len(save_times(count * every, save_every=every)) == count + 1
    assert len(save_times(2.1, save_every=0.7)) == 4  # 2.1 / 0.7 > 3
    assert save_times(2.0, save_at=[0.1, 0.25, 2.0]).tolist() == [0.1, 0.25, 2.0]
    # Past the end by rounding only.
    assert save_times(0.3, save_at=[0.1, 0.1 + 0.2])[-1] == 0.3
