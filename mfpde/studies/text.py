"""A convergence study in words and tables."""

from __future__ import annotations

import numpy as np

from mfpde.studies.quantity import Converging
from mfpde.studies.result import AtomConvergence, value_text

_DIGIT_NAMES = {"merge time": "digits"}


def study_text(study: AtomConvergence) -> str:
    """Return the whole study: what was run, one table a quantity, what holds."""
    lines = [
        f"{study.equation}, {study.equation.convention}",
        f"atoms={study.mode!r} on {', '.join(map(repr, study.grids))}; t = "
        f"{study.runs[-1].final_time:g}",
    ]
    if study.particles is not None:
        numbers = study.particles.statistics
        lines.append(
            f"particles: {numbers.get('particles')} ({numbers.get('method')}), "
            f"{study.particles.reason}"
        )
    if study.polished is not None:
        lines.append(f"polished: {study.polished.message}")
    lines += [f"note: {note}" for note in study.notes]
    for quantity in study.quantities:
        lines += ["", *_quantity_lines(study, quantity)]
    return "\n".join([*lines, "", *summary_lines(study)])


def summary_lines(study: AtomConvergence) -> list[str]:
    """Return one line a quantity: its value on the finest grid, and what holds of it."""
    width = max(len(quantity.name) for quantity in study.quantities)
    return [
        f"{quantity.name:<{width}}  {_verdict(quantity)}"
        for quantity in study.quantities
    ]


def _verdict(quantity: Converging) -> str:
    unit = _DIGIT_NAMES.get(quantity.kind, "decimals")
    if not quantity.converged:
        return f"NOT converged: {quantity.reason}"
    last = len(quantity.values) - 1
    if quantity.kind == "number":
        return f"{value_text(quantity, last)}: {quantity.reason}"
    value = value_text(quantity, last, digits=max(quantity.digits + 1, 3))
    # At the floor of the error in time no order shows, though the digits agree.
    word = "converged" if np.isfinite(quantity.order) else "the grids agree"
    return f"{value}: {word} to {quantity.digits} {unit} ({quantity.reason})"


def _quantity_lines(study: AtomConvergence, quantity: Converging) -> list[str]:
    header = ("cells", "value", "difference", "order", "particles", "polished")
    rows = [header]
    for k, grid in enumerate(study.grids):
        rows.append(
            (
                " x ".join(map(str, grid.shape)),
                value_text(quantity, k),
                _shown(quantity.differences[k - 1] if k else np.nan),
                _shown(quantity.orders[k - 2] if k > 1 else np.nan, ".2f"),
                _shown(quantity.particle_errors[k]),
                _shown(quantity.polished_errors[k]),
            )
        )
    kept = [c for c in range(len(header)) if any(row[c] != "-" for row in rows[1:])]
    widths = [max(len(row[c]) for row in rows) for c in kept]
    table = [
        "  " + "  ".join(row[c].rjust(w) for c, w in zip(kept, widths, strict=True))
        for row in rows
    ]
    uncertain = quantity.particle_uncertainty
    known = "" if np.isnan(uncertain) else f" (particles known to {uncertain:.1e})"
    return [quantity.name + known, *table]


def _shown(number: float, form: str = ".2e") -> str:
    return "-" if np.isnan(number) else f"{number:{form}}"
