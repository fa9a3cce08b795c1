"""Runs of random equations from random starts: nothing that is allowed may break a law.

Equations have heads, biases, softmax, kernels, diffusion, weights of any size; starts are smooth,
rough, of one cell, with atoms.  Mass is kept, nothing is negative or not finite, what is stored
comes back to the bit; and a run that cannot go on ends early and says so.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from fuzzing import few, random_case
from hypothesis import given
from hypothesis import strategies as st
from stored import assert_same

import mfpde

pytestmark = [
    pytest.mark.filterwarnings("ignore:the grid is coarse"),
    # A rough start may stand where the grid decides; the laws hold there too.
    pytest.mark.filterwarnings("ignore:.*attracts from one side:UserWarning"),
]
KINDS = {"circle": 25, "sphere": 15, "zonal": 25}
"""Geometries, and how many runs there are on each."""
ENDS = ("t_end", "step_limit", "step_too_small", "non_finite")
ROUNDING = 1e-12


@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_keeps_mass_and_sign_and_is_read_to_the_bit(kind: str, tmp_path) -> None:
    @few(KINDS[kind])
    @given(seed=st.integers(0, 2**32))
    def check(seed: int) -> None:
        case = random_case(Random(seed), kind)
        run = case.solved()
        assert run.stop.kind in ENDS
        for state in (*run.states, run.final):
            assert abs(state.total_mass - 1) <= ROUNDING
            assert np.isfinite(state.density.values).all()
            assert (state.density.values >= 0).all()
            assert (state.atoms.masses > 0).all()
            assert np.isfinite(state.atoms.points).all()
        if case.equation.energy_is_lyapunov:
            assert np.isfinite(run.energies).all()
        assert run.mass_drift <= ROUNDING
        assert repr(run)
        mfpde.save(run, tmp_path / "run.zarr", overwrite=True)
        read = mfpde.load(tmp_path / "run.zarr")
        assert_same(run, read)
        assert repr(read.equation) == repr(run.equation)

    check()
