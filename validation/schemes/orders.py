r"""Orders of every transport scheme on every geometry, against closed-form densities.

What the methods promise: fifth order in smooth regions of a line for donor blending (order
4 and better in L1 at these sizes), third order with Heun's method on S^2 (2 and better),
third order and better for semi-Lagrangian steps.  Where the density jumps, L1 errors are those
of the cells at the jump: order 1/2 at least.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from validation.charts import log_log
from validation.claim import Claim, Findings, at_least
from validation.rates import order
from validation.schemes.exact_cases import on_circle, on_sphere, on_zonal

CLAIM = Claim(
    "Orders of the transport schemes",
    "closed forms: Ott & Antonsen (2008); Lipton, Mirollo & Strogatz (2021); Möbius flows",
    "L1 errors against closed-form densities on S¹, S² and zonal grids fall at the order "
    "that each scheme promises while the density is smooth.",
    condition="Where a ReLU makes the density jump, L1 orders go down to {jump:.2g}: the error "
    "is that of the cells at the jump.",
)
SCHEMES = ("donor_blended", "semi_lagrangian")
PROMISED = {
    "S¹": {"donor_blended": 4.0, "semi_lagrangian": 3.0},
    "S²": {"donor_blended": 2.0},
    "zonal": {"semi_lagrangian": 2.9},
}
AT_A_JUMP = 0.5
SIZES = {"S¹": (128, 256, 512), "S²": (48, 96), "zonal": (48, 96, 192)}
QUICK_SIZES = {"S¹": (128, 256), "S²": (32, 48), "zonal": (32, 64)}
# On grids this coarse the higher orders have not set in.
QUICK_SHARE = 0.6


@CLAIM
def main(quick: bool = False) -> Findings:
    """Observed orders between the coarsest and the finest grid of each family."""
    chosen, share = (QUICK_SIZES, QUICK_SHARE) if quick else (SIZES, 1.0)
    found: dict[str, dict[str, tuple[tuple[int, ...], list[float]]]] = {}
    at_jumps = []
    families = (on_circle(), on_sphere(), on_zonal())
    for case in (case for cases in families for case in cases[: 1 if quick else None]):
        family = case.name.split()[0].rstrip(",")
        sizes, found[case.name] = chosen[family], {}
        for scheme, promised in PROMISED[family].items():
            errors = [case.error(n, scheme) for n in sizes]
            found[case.name][scheme] = sizes, errors
            seen, least = order(sizes, errors), promised * share
            if not case.is_smooth:
                at_jumps.append(seen)
                least = AT_A_JUMP
            name = f"order (error {errors[-1]:.1e} on {sizes[-1]})"
            yield at_least(f"{case.name}, {scheme}: {name}", seen, least)
    if at_jumps:
        name = "least order of all schemes where a ReLU makes the density jump"
        shown = {"key": "jump", "shows": "condition"}
        yield at_least(name, min(at_jumps), AT_A_JUMP, **shown)
    yield "orders", draw(found)


def draw(found: dict[str, dict]) -> Figure:
    """One panel a case."""
    drawn = Figure(figsize=(9.5, 5.0), layout="constrained")
    axes = drawn.subplots(2, 4).ravel()
    for ax, (name, curves) in zip(axes, found.items(), strict=False):
        labels = {"xlabel": "cells (rings on S²)", "ylabel": "L1 error"}
        log_log(ax, curves, title=name, names=SCHEMES, **labels)
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    # Beside the panels: inside, it would hide the lowest curve.
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower right")
    return drawn
