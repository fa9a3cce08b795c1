"""``mfpde minimize`` and ``continuation`` of a settings file, ``mfpde phase-diagram``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mfpde.commands import DONE, NUMERICAL_FAILURE
from mfpde.commands.answers import (
    answer,
    check_file_place,
    circle_or_sphere,
    numbers_in,
)
from mfpde.commands.options import Changes, Config, Count, Figure, Numbers, Real

if TYPE_CHECKING:
    from mfpde.branches.following import BranchStart
    from mfpde.settings.settings import Settings

OF_BRANCHES = """\
residual: largest speed left, as a share of what balances; unstable: directions in which small
changes grow; strict margin, split margin: slowest rates [1/time] at which atoms that were moved,
or split in two, come back: below 0 they do not"""
OF_DIAGRAMS = """\
threshold, coexistence, fold: the diffusion below which the uniform state is unstable, at which the
ordered state has the same free energy, and up to which there is one; barrier: free energy between
the two at coexistence; moment: int P_l dmu of the ordered state there; nan: the transition is
continuous"""


def minimize(
    config: Config,
    /,
    *,
    changes: Changes = (),
    tolerance: Real = 1e-12,
    figure: Figure = None,
) -> int:
    """Find the measure of least energy, with a certified gap to the minimum.

    The exit code is 3 if the gap is not as small as wanted; it is printed all
    the same.

    Example: mfpde minimize run.toml --figure minimum.pdf

    Parameters
    ----------
    tolerance
        Wanted gap, as a share of the size of the energy.
    """
    check_file_place("--figure", figure)
    from mfpde.settings.settings import read_settings
    from mfpde.stationary import minimize as minimized
    from mfpde.stationary.certification import energy_scale

    settings = read_settings(config, changes)
    equation, geometry = settings.single_equation(), settings.geometry
    grid = circle_or_sphere(
        geometry, f"geometry = {geometry!r}: minimize works on a circle or a sphere"
    )
    found = minimized(equation, grid, tolerance=tolerance)
    answer(found, figure, "plot_certificate")
    is_reached = found.gap <= tolerance * energy_scale(equation)
    return DONE if is_reached else NUMERICAL_FAILURE


def continuation(
    config: Config,
    /,
    *,
    parameter: Literal["beta", "weight_scale", "diffusion"],
    values: Numbers,
    changes: Changes = (),
    switch: bool = False,
    figure: Figure = None,
) -> int:
    """Follow a stationary state in a parameter; masses of atoms are frozen.

    It begins, at the first value, with the minimiser of the energy in descent
    and its maximiser in ascent; with diffusion, with the stationary density
    beside the start of the settings. The exit code is 3 if the branch ends
    before the last value.

    Example: mfpde continuation run.toml --parameter beta --values 5:20:16

    Parameters
    ----------
    parameter
        What changes; weight_scale is a factor of the perceptron's weights.
    values
        Where states are wanted: numbers, or first:last:count.
    switch
        Follow at a loss of stability the branch that begins there.
    """
    check_file_place("--figure", figure)
    numbers = numbers_in("--values", values)
    from mfpde.branches import continuation as followed
    from mfpde.settings.settings import read_settings

    settings = read_settings(config, changes)
    start = _start(settings, parameter, numbers[0])
    equation = settings.single_equation()
    found = followed(equation, start, parameter, numbers, switch=switch)
    answer(found, figure, "plot_continuation", OF_BRANCHES)
    return DONE if found.is_complete else NUMERICAL_FAILURE


def _start(settings: Settings, parameter: str, value: float) -> BranchStart:
    from mfpde.branches.arclength import check_parameter, equation_at
    from mfpde.measures.measure import Atoms
    from mfpde.stationary import maximize
    from mfpde.stationary import minimize as minimized

    geometry, given = settings.geometry, settings.single_equation()
    check_parameter(given, parameter)
    equation = equation_at(given, parameter, value)
    if equation.diffusion > 0:
        return settings.start
    if equation.has_softmax:
        raise ValueError(
            "attention.normalized = true: the branch would start from the minimiser or the "
            "maximiser of E, and softmax attention is no gradient of E; give the atoms to "
            "start from to mfpde.continuation in Python, or set attention.normalized=false"
        )
    if equation.direction == "ascent":
        return Atoms(maximize(equation).points[:1])
    grid = circle_or_sphere(
        geometry,
        f"geometry = {geometry!r}: the minimiser that the branch starts from is known "
        "on a circle or a sphere",
    )
    found = minimized(equation, grid)
    if found.atoms is None:
        raise ValueError(
            f"{parameter} = {value:g}: the minimiser there is a {found.kind}, not of atoms; "
            "choose another first value"
        )
    return found.atoms


def phase_diagram(
    *,
    dimension: Count,
    betas: Numbers,
    kernel: Literal["shifted", "unshifted"] = "shifted",
    degree: Count = 1,
    figure: Figure = None,
) -> int:
    """Find the diffusion below which the uniform state loses to order, by beta.

    Example: mfpde phase-diagram --dimension 3 --betas 1:10:10

    Parameters
    ----------
    dimension
        The N of points in R^N, on the sphere S^(N-1); from 2 to 64.
    betas
        Values of beta: numbers, or first:last:count.
    kernel
        The kernel exp(beta (x.y - 1)), or exp(beta x.y).
    degree
        Degree of the mode; above 1 on the circle.
    """
    check_file_place("--figure", figure)
    numbers = numbers_in("--betas", betas)
    if figure is not None and len(numbers) < 2:
        raise ValueError(f"--betas {betas!r}: a picture needs two values or more")
    from mfpde.theory import phase_diagram as diagram_of

    found = diagram_of(dimension, numbers, kernel=kernel, degree=degree)
    answer(found, figure, "plot_phase_diagram", OF_DIAGRAMS)
    return DONE
