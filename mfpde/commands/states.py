"""Commands about stationary states: minimize, continuation, phase-diagram, theory."""

from __future__ import annotations

import inspect
from textwrap import indent
from typing import Annotated, Any, Literal

import mfpde
from mfpde.commands import DONE, NUMERICAL_FAILURE, options
from mfpde.commands.options import about
from mfpde.commands.terminal import answer, say

OF_BRANCHES = """\
residual: largest speed left, as a share of what balances; unstable: directions in which small
changes grow; strict margin, split margin: slowest rates [1/time] at which atoms that were moved,
or split in two, come back: below 0 they do not"""
OF_DIAGRAMS = """\
threshold, coexistence, fold: the diffusion below which the uniform state is unstable, at which the
ordered state has the same free energy, and up to which there is one; barrier: free energy between
the two at coexistence; moments: int P_l dmu of the ordered state there; -: the transition is
continuous"""


def minimize(
    config: options.Config,
    /,
    *,
    changes: options.Changes = (),
    tolerance: Annotated[options.Real, about("Gap, relative to the energy.")] = 1e-12,
    figure: options.Figure = None,
) -> int:
    """Find the measure of least energy, with a certified gap to the minimum.

    The exit code is 3 if the gap is above the tolerance; it is printed all the
    same.

    Example: mfpde minimize run.toml --figure minimum.pdf
    """
    from mfpde.stationary.convex_energy import convex_energy

    settings = mfpde.settings.read_settings(config, changes)
    equation, grid = settings.single_equation(), settings.geometry
    found = mfpde.minimize(equation, grid, tolerance=tolerance)  # type: ignore[arg-type]
    answer(found, figure, "plot_certificate")
    scale = convex_energy(equation, grid.dimension, "minimize").scale
    is_reached = found.gap <= tolerance * scale
    return DONE if is_reached else NUMERICAL_FAILURE


def continuation(
    config: options.Config,
    /,
    *,
    parameter: Annotated[
        Literal["beta", "weight_scale", "diffusion"],
        about("What changes; weight_scale is a factor of the perceptron's weights."),
    ],
    values: options.Numbers,
    changes: options.Changes = (),
    figure: options.Figure = None,
) -> int:
    """Follow a stationary state in a parameter; masses of atoms are frozen.

    It begins, at the first value, with the minimiser of the energy in descent
    and its maximiser in ascent; with diffusion, with the stationary density
    beside the start of the settings. The exit code is 3 if the branch ends
    before the last value.

    Example: mfpde continuation run.toml --parameter beta --values 5:20:16
    """
    settings = mfpde.settings.read_settings(config, changes)
    equation, start = settings.single_equation(), settings.start
    start = _start(equation, start, parameter, values[0])
    found = mfpde.continuation(equation, start, parameter, values)
    answer(found, figure, "plot_continuation", OF_BRANCHES)
    return DONE if found.is_complete else NUMERICAL_FAILURE


def _start(
    given: mfpde.MeanFieldEquation, start: Any, parameter: str, value: float
) -> Any:
    """Return the state at the first ``value`` that a branch starts from."""
    from mfpde.branches.parameters import equation_at

    equation = equation_at(given, parameter, value)
    if equation.diffusion > 0:
        return start
    if equation.has_softmax:
        raise ValueError(
            "attention.normalized = true: the branch would start from the minimiser or the "
            "maximiser of E, and softmax attention is no gradient of E; give the atoms to "
            "start from to mfpde.continuation in Python, or set attention.normalized=false"
        )
    if equation.direction == "ascent":
        return mfpde.Atoms(mfpde.maximize(equation).points[:1])
    found = mfpde.minimize(equation, start.geometry)
    if found.atoms is None:
        raise ValueError(
            f"{parameter} = {value:g}: the minimiser there is a {found.kind}, not of atoms; "
            "choose another first value"
        )
    return found.atoms


def phase_diagram(
    *,
    dimension: Annotated[options.Count, about("N of the sphere S^(N-1), 2 to 64.")],
    betas: options.Numbers,
    kernel: Annotated[
        Literal["shifted", "unshifted"], about("exp(beta (x.y - 1)), or exp(beta x.y).")
    ] = "shifted",
    degree: Annotated[
        options.Count, about("Of the harmonic that grows; above 1 on the circle.")
    ] = 1,
    figure: options.Figure = None,
) -> int:
    """Find the diffusion below which the uniform state loses to order, by beta.

    Example: mfpde phase-diagram --dimension 3 --betas 1:10:10
    """
    if figure is not None and len(betas) < 2:
        raise ValueError("--betas: a picture needs two values or more")
    found = mfpde.phase_diagram(dimension, betas, kernel=kernel, degree=degree)
    answer(found, figure, "plot_phase_diagram", OF_DIAGRAMS)
    return DONE


def theory(
    *given: Annotated[str, about("KEY=VALUE, given as beta=5, 'degrees=[1,2]'.")],
) -> int:
    """Print the closed forms of mfpde.theory whose parameters are given.

    Example: mfpde theory beta=5 dimension=3 'degrees=[1,2,3]'
    """
    from mfpde.arrays import choice
    from mfpde.settings.base import NEEDED, Section
    from mfpde.settings.files import change_by_text

    values: dict[str, Any] = {"dimension": 2}
    for text in given:
        change_by_text({"theory": values}, f"theory.{text}")
    attention = Section(mfpde.Attention, needed=("beta",))
    term = attention.read({k: values[k] for k in attention.keys if k in values})
    values["equation"] = mfpde.MeanFieldEquation(term, direction="descent")
    functions = (getattr(mfpde.theory, name) for name in mfpde.theory.__all__)
    forms = [Section(one) for one in functions if inspect.isfunction(one)]
    known = {*attention.keys, *(key for form in forms for key in form.keys)}
    for key in values:
        choice("setting", key, sorted(known))
    for form in forms:
        if any(k not in values for k in form.keys if form.keys[k] is NEEDED):
            continue
        try:
            found = form.construct(**{k: values[k] for k in form.keys if k in values})
        except ValueError as error:
            if "equation" not in form.keys:
                raise
            found = f"does not apply: {error}"
        name, value = form.construct.__name__, indent(str(found), "    ")
        say(f"{name}: {form.meaning}\n{value}")
    return DONE
