"""Steps of labels are of fourth order."""

import numpy as np
import pytest
from test_spectral_phase import driven, smooth_start

from mfpde import Sphere
from mfpde.transport import State
from mfpde.transport.lagrangian import LagrangianSphere

SPHERE = Sphere(32)


def carried(transport, state, time, *, steps):
    """The state after a ``time`` of equal steps."""
    for _ in range(steps):
        state = transport.step(state, time / steps).state
    return state


def distance(state, other):
    apart = np.linalg.norm(state.points - other.points, axis=1)
    return float(state.atom_masses @ apart)


def test_the_error_of_a_step_falls_with_its_fifth_power():
    transport = LagrangianSphere(driven(5.0).on(SPHERE))
    nobody = np.empty((0, 3)), np.empty(0)
    start = transport.begin(State(smooth_start(SPHERE).masses, *nobody))
    state = carried(transport, start, 1.0, steps=10)
    errors = [
        distance(
            carried(transport, state, step, steps=1),
            carried(transport, state, step, steps=8),
        )
        for step in (0.1, 0.05)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5, abs=0.25)
