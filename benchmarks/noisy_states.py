"""What it takes to find a stationary density with diffusion on the sphere of 128 x 256 cells.

    python benchmarks/noisy_states.py

The perceptron is the paper's, three neurons drawn with seed 111; the start is uniform.  A row
has the unknowns, Newton's iterations, the residual of s F - kappa log rho, a bound of the gap of
the free energy in descent, the number of unstable directions, the time of `stationary_density`
with its test of stability, and how many times that matrices take: a table of all harmonics at
the nodes, Newton's method with the matrix of the linearised equation and steps halved until
the residual falls, and all eigenvalues.  These matrices may go to an unstable state in ascent,
or to none, as the last column says.  Below, without neurons, how far from 1 the
eigenvalues of rotations are; and a branch in the diffusion.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from results_table import in_turns

import mfpde
from mfpde.stationary.gibbs import GibbsProblem, GibbsState, needed_degree

SPHERE = mfpde.Sphere(128)
BETAS = (4.0, 8.0, 16.0)
DIFFUSIONS = (0.1, 0.02, 0.005)
REPETITIONS = 5
MOST_ITERATIONS = 100


class Found(NamedTuple):
    """How exact a state is, and the number of its unstable directions."""

    residual: float
    unstable: int


def equation(
    beta: float, kappa: float, direction: str, *terms
) -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta), *terms, direction=direction, diffusion=kappa
    )


def by_matrices(wanted: mfpde.MeanFieldEquation, start: mfpde.Density) -> Found:
    """Newton's method with matrices from a start."""
    degree = needed_degree([wanted], start)
    problem = GibbsProblem(wanted, start.geometry, start.total_mass, degree)
    state = problem.state(problem.coefficients(start))
    for _ in range(MOST_ITERATIONS):
        lower = _lower(problem, state)
        if lower is None:
            break
        state = lower
    return Found(state.largest_difference, int((state.eigenvalues < -1e-11).sum()))


def _lower(problem: GibbsProblem, state: GibbsState) -> GibbsState | None:
    size, share = np.linalg.norm(state.residual), 1.0
    step = np.linalg.solve(state.hessian, -state.residual)
    while share > 1e-4:
        found = problem.state(state.coefficients + share * step)
        if np.linalg.norm(found.residual) < (1 - share / 4) * size:
            return found
        share /= 2
    return None


def main() -> None:
    """Print the rows."""
    uniform = mfpde.uniform(SPHERE)
    neurons = mfpde.Perceptron.random(3, 3, seed=111)
    print("beta kappa direction unknowns its residual    gap   unst     time  matrices")
    for beta in BETAS:
        for kappa in DIFFUSIONS:
            for direction in ("descent", "ascent"):
                wanted = equation(beta, kappa, direction, neurons)
                found = mfpde.stationary_density(wanted, uniform)
                works = [lambda w=wanted: mfpde.stationary_density(w, uniform)]
                (taken,) = in_turns(works, REPETITIONS)
                began = time.perf_counter()
                old = by_matrices(wanted, uniform)
                ratio = (time.perf_counter() - began) / taken.median
                size = (needed_degree([wanted], uniform) + 1) ** 2 - 1
                gap = "" if found.gap is None else f"{found.gap:.1e}"
                print(
                    f"{beta:4g} {kappa:5g} {direction:9} {size:8d} {found.iterations:3d} "
                    f"{found.residual:8.1e} {gap:8} {found.unstable_dimension:3d} "
                    f"{1e3 * taken.median:6.1f} ms  {ratio:6.0f}  "
                    f"(residual {old.residual:.0e}, {old.unstable} unstable)",
                    flush=True,
                )
    print("rotations, no neurons: beta, kappa, residual, largest |mu - 1|")
    bump = mfpde.Density.from_function(
        SPHERE, lambda x: np.exp(3 * x @ np.array([0.6, 0.48, 0.64]))
    )
    for beta, kappa in ((4.0, 0.02), (8.0, 0.005), (16.0, 0.001)):
        wanted = equation(beta, kappa, "ascent")
        found = mfpde.stationary_density(wanted, bump)
        state = found.state
        error = max(np.linalg.norm(state.product(mode)) for mode in state.modes.T)
        print(f"{beta:4g} {kappa:6g} {found.residual:8.1e} {error:8.1e}")
    wanted, values = equation(8.0, 0.1, "ascent", neurons), [0.1, 0.05, 0.02]
    start = mfpde.stationary_density(wanted, uniform).density
    began = time.perf_counter()
    branch = mfpde.continuation(wanted, start, "diffusion", values)
    taken = time.perf_counter() - began
    print(
        f"a branch at beta = 8 from kappa = .1 to .02: {len(branch.path)} points, "
        f"{taken:.2f} s, residual {branch.residuals.max():.1e}"
    )


if __name__ == "__main__":
    main()
