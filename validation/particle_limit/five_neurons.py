"""Five ReLU neurons on the sphere, beyond the paper's: atoms of the density beside particles."""

from __future__ import annotations

from validation.claim import Claim, Findings, mark
from validation.figures.on_sphere import solve_on_sphere, sphere_figure, sphere_rows
from validation.figures.settings import Setting

CLAIM = Claim(
    title="Atoms of five neurons on the sphere are the particles' clusters",
    source="Theorem 3.1 and eq. (2.5); neurons of seed 7",
    statement=(
        "From the uniform measure five ReLU neurons at beta = 8, in ascent, with softmax, and "
        "in descent, gather mass in as many atoms as particles have clusters, with their "
        "masses and places."
    ),
)
SETTINGS = tuple(
    Setting(8.0, direction, dimension=3, normalized=softmax, units=5, seed=7)
    for direction, softmax in (("ascent", False), ("ascent", True), ("descent", False))
)
SLIDING, BIRTHPLACE = SETTINGS[0], 0.25
"""There one atom is .22, .21 and .20 of a cell away from the particles' on 64, 96 and 160
rings: its place errs by the first power of a cell's width."""


@CLAIM
def main(quick: bool = False) -> Findings:
    settings = SETTINGS[2:] if quick else SETTINGS
    found = [solve_on_sphere(setting, quick=quick) for setting in settings]
    for one in found:
        share = BIRTHPLACE if one.setting == SLIDING else 0.0
        # The three settings have neurons and beta, by which rows are cited, in common.
        rows = sphere_rows(one, birthplace=share)
        yield from mark(rows, under=f"{one.setting}: ", key="")
    figure = sphere_figure(found, "S², five ReLU neurons, shifted kernel")
    yield "five_neurons", figure
