"""Steps of labels by two, three or four stages: their orders, and errors known beforehand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_spectral_phase import driven, smooth_start

from mfpde import Attention, Layers, MeanFieldEquation, Perceptron, Sphere, solve
from mfpde.transport import State, label_steps
from mfpde.transport.label_steps import ExpectedErrors, expected_errors, unseen_error
from mfpde.transport.lagrangian import LagrangianSphere

SPHERE = Sphere(32)


class Counted(LagrangianSphere):
    """Transport by labels that counts the stages of which it asks the velocities."""

    stages = 0

    def _flow(self, points, moments):
        self.stages += 1
        return super()._flow(points, moments)


def solved_and_counted(*arguments, **options):
    """A run, and how often its labels asked for their velocities."""
    asked = 0
    flow = LagrangianSphere._flow

    def counted(self, points, moments):
        nonlocal asked
        asked += 1
        return flow(self, points, moments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LagrangianSphere, "_flow", counted)
        run = solve(*arguments, **options)
    return run, asked


def transport_of(equation):
    return Counted(equation.on(SPHERE))


def state_after(transport, time):
    """The state that starts smooth, after a ``time`` of steps of four stages."""
    state = transport.evolved(
        State(smooth_start(SPHERE).masses, np.empty((0, 3)), np.empty(0))
    )
    return carried(transport, state, time, steps=round(time / 0.1))


def carried(transport, state, time, *, steps):
    tolerance, transport.tolerance = transport.tolerance, 0.0
    for _ in range(steps):
        advance = transport.advanced(state, transport.flow(state), time / steps)
        state = advance.state.on_sphere()
    transport.tolerance = tolerance
    return state


def expected_of(transport, state, step):
    flow = transport.flow(state)
    first = flow.atom_velocities
    halfway = state.moved(state.masses, state.points + 0.5 * step * first).on_sphere()
    second = transport.flow(halfway).atom_velocities
    return expected_errors(state.atom_masses, first, second)


def distance(state, other):
    apart = np.linalg.norm(state.points - other.points, axis=1)
    return float(state.atom_masses @ apart)


@pytest.mark.parametrize(("stages", "order"), [(2, 2), (3, 3), (4, 4)])
def test_orders(stages, order, monkeypatch):
    """Errors of one step fall with the power of the order and one; stages are those said."""
    monkeypatch.setattr(label_steps, "_UNSEEN", 0.0)
    transport = transport_of(driven(5.0))
    state = state_after(transport, 1.0)
    errors = []
    for step in (0.1, 0.05):
        expected = expected_of(transport, state, step)
        between = np.sqrt(expected.of_two * expected.of_three)
        limits = {2: 4 * expected.of_two, 3: 3 * between, 4: 0.0}
        transport.tolerance = limits[stages] / expected.motion
        flow = transport.flow(state)
        before = transport.stages
        moved = transport.advanced(state, flow, step).state.on_sphere()
        # The first stage is the flow with which the step begins.
        assert transport.stages - before == stages - 1
        errors.append(distance(moved, carried(transport, state, step, steps=8)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.25)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    beta=st.floats(0.5, 10.0),
    activation=st.sampled_from(["relu", "gelu"]),
    direction=st.sampled_from(["ascent", "descent"]),
    begun=st.sampled_from([0.2, 1.0, 3.0]),
    step=st.floats(0.01, 0.5),
    tolerance=st.floats(-5.0, -1.0).map(lambda power: 10.0**power),
)
def test_fewer_stages_err_less_than_is_allowed(
    seed, beta, activation, direction, begun, step, tolerance
):
    """By fine steps: relative to the motion, beside what four stages err and no grid shows."""
    neurons = Perceptron.random(2, 3, seed=seed, activation=activation)
    equation = MeanFieldEquation(Attention(beta), neurons, direction=direction)
    transport = transport_of(equation)
    state = state_after(transport, begun)
    exact = carried(transport, state, step, steps=8)
    by_four = carried(transport, state, step, steps=1)
    flow = transport.flow(state)
    speeds = np.linalg.norm(flow.atom_velocities, axis=1)
    motion = float(state.atom_masses @ speeds)
    transport.tolerance = tolerance
    moved = transport.advanced(state, flow, step).state.on_sphere()
    allowed = max(tolerance * motion * step, 1e-3 * SPHERE.spacing)
    assert distance(moved, exact) <= allowed + distance(by_four, exact)


@pytest.mark.parametrize("step", [0.05, 0.2, 0.8])
def test_what_no_grid_shows_may_use_all_of_the_tolerance(step):
    """But no more; and a third of it remains free however much that is."""
    masses, spacing = np.array([0.5, 1.5]), 0.1
    unseen = unseen_error(masses, spacing, step)
    # All points err by a two-thousandth of a cell within this step.
    assert unseen * step == pytest.approx(spacing / 2000 * masses.sum())
    just = 0.999 * unseen
    assert ExpectedErrors(just, 0.0, motion=1.0).allows_two(1.1 * just, unseen)
    assert not ExpectedErrors(just, 0.0, motion=1.0).allows_two(0.9 * just, unseen)
    more = 1.001 * unseen
    assert not ExpectedErrors(more, 0.0, motion=1.0).allows_two(2.9 * more, unseen)
    assert ExpectedErrors(more, 0.0, motion=1.0).allows_two(3.1 * more, unseen)
    assert ExpectedErrors(9.0, just, motion=1.0).allows_three(1.1 * just, unseen)
    assert not ExpectedErrors(9.0, more, motion=1.0).allows_three(2.9 * more, unseen)


def test_layers_of_one_equation_cost_few_stages_more():
    """24 layers against one run of the same length: 1.3 of its velocities."""
    equation, sphere = driven(5.0), Sphere(48)
    counts = []
    for problem in (equation, Layers([(equation, 0.5)] * 24)):
        start = smooth_start(sphere)
        _, asked = solved_and_counted(problem, start, t_end=12.0, save_at=[12.0])
        counts.append(asked)
    assert counts[1] <= 1.3 * counts[0]


def test_labels_at_rest_take_two_stages():
    """Where nothing moves nothing can be missed."""
    masses = np.full(4, 0.25)
    expected = expected_errors(masses, np.zeros((4, 3)), np.zeros((4, 3)))
    assert expected.allows_two(0.0)
    assert expected == (0.0, 0.0, 0.0)
    assert expected.lag_factor_of_three == 0.0


def test_a_tolerance_of_nothing_takes_four_stages():
    transport = transport_of(driven(5.0))
    state = state_after(transport, 1.0)
    flow = transport.flow(state)
    before = transport.stages
    advance = transport.advanced(state, flow, 0.05)
    assert transport.stages - before == 3
    assert advance.lag_factor == 1.0


def test_many_saves_cost_fewer_stages_and_no_accuracy(monkeypatch):
    """Of a default run; beside the same steps of four stages each."""
    equation, sphere, end = driven(5.0), Sphere(48), 5.0
    fine = Sphere(96)
    wanted = fine.moments(
        solve(equation, smooth_start(fine), t_end=end, save_at=[end], rtol=1e-6)
        .final.density.masses,
        8,
    )  # fmt: skip
    counts, errors = [], []
    for most_stages in (False, True):
        if most_stages:
            limit = property(lambda self: 0.0, lambda self, value: None)
            monkeypatch.setattr(LagrangianSphere, "tolerance", limit)
        run, asked = solved_and_counted(equation, smooth_start(sphere), t_end=end)
        counts.append(asked)
        found = sphere.moments(run.final.density.masses, 8)
        errors.append(np.abs(found - wanted).max())
    assert counts[0] <= 0.8 * counts[1]
    assert errors[0] <= 1.1 * errors[1]
