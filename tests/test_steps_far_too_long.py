"""A first step that is far too long is cut, not computed."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde


@pytest.mark.parametrize("num_cells", [256, 4096])
@pytest.mark.parametrize("diffusion", [0.0, 1e-3])
def test_an_attention_of_e_to_the_beta_is_the_shifted_one_in_shorter_time(
    num_cells: int, diffusion: float
) -> None:
    """unshifted(beta, w, kappa) at time t is shifted(beta, w f, kappa f) at t / f, f = e^-beta.

    From a uniform measure attention is at rest: the first step is tried at the length that
    the neuron allows, where later stages move cells round the circle a million times.
    """
    beta, circle = 25.0, mfpde.Circle(num_cells)
    factor = np.exp(-beta)

    def run(kernel: str, scale: float, t_end: float, *, steps: int) -> mfpde.Run:
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(beta, kernel=kernel),
            mfpde.Perceptron([[1.0, 0.0]], [scale], "gelu"),
            direction="ascent",
            diffusion=diffusion * scale,
        )
        return mfpde.solve(
            equation,
            mfpde.uniform(circle),
            t_end=t_end,
            transport="semi_lagrangian",
            stop=mfpde.StepLimit(steps),
        )

    fast = run("unshifted", 1.0, 1e-3, steps=40)
    assert fast.stop.kind == "step_limit"
    slow = run("shifted", factor, fast.final_time / factor, steps=1000)
    assert slow.stop.kind == "t_end"
    one, other = (found.final.density.values for found in (fast, slow))
    assert one.max() - one.min() > 1e-9
    # It grows by many e-folds from what the neuron does; errors in time grow with it.
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-2 * float(np.ptp(one)))
