"""A triangle that turns
=====================

Three atoms turn for ever under a head whose values are turned against its queries.

With D = I and V = I + omega J (J the quarter turn) there is no energy, and a state need not
come to rest.  A density with three equal bumps collapses to three atoms, which go on turning as
an equilateral triangle with the angular velocity

    omega (1 - e^(-3 beta / 2)) / 3:

its own mass gives each atom omega / 3, the two others take a little away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde

BETA, OMEGA = 9.0, 0.3
QUARTER_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def main(num_cells: int = 384) -> dict[str, Any]:
    circle = mfpde.Circle(num_cells)
    head = mfpde.Attention(
        BETA, bilinear=np.eye(2), value=np.eye(2) + OMEGA * QUARTER_TURN
    )
    equation = mfpde.MeanFieldEquation(head, direction="ascent")
    start = mfpde.Density(circle, np.exp(4 * np.cos(3 * circle.angles))).normalized()
    run = mfpde.solve(equation, start, t_end=40.0, save_every=0.5, atoms="exact")
    angles = [
        np.sort(np.angle(state.atoms.points @ [1, 1j]) % (2 * np.pi / 3))[1]
        for state in (run.states[-21], run.states[-1])
    ]
    turned = (angles[1] - angles[0] + np.pi / 3) % (2 * np.pi / 3) - np.pi / 3
    polished = mfpde.polish(equation, run.final.atoms)
    print(run)
    print(polished)
    return {
        "measured": float(turned / 10),
        "polished": float(polished.angular_velocity[1, 0]),
        "expected": OMEGA * (1 - np.exp(-1.5 * BETA)) / 3,
        "figure": mfpde.plot_space_time(run),
    }


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/rotating_triangle.pdf")
