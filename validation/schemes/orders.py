r"""Orders of every transport scheme on every geometry, against closed-form densities.

What the methods promise: fifth order in smooth regions of a line for donor blending (order
4 and better in L1 at these sizes), third order with Heun's method on S^2 (2 and better),
third order and better for semi-Lagrangian steps.  Where the density jumps, L1 errors are those
of the cells at the jump: order 1/2 at least.
"""

from __future__ import annotations

from validation.charts import log_log
from validation.claim import Claim, Quantity
from validation.rates import order
from validation.schemes.exact_cases import ExactCase, on_circle, on_sphere, on_zonal

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


def main(quick: bool = False) -> dict[str, object]:
    """Observed orders between the coarsest and the finest grid of each family."""
    sizes, share = (QUICK_SIZES, QUICK_SHARE) if quick else (SIZES, 1.0)
    found: dict[str, dict[str, tuple[tuple[int, ...], list[float]]]] = {}
    quantities, at_jumps = [], []
    families = (on_circle(), on_sphere(), on_zonal())
    for case in (case for cases in families for case in cases[: 1 if quick else None]):
        family = case.name.split()[0].rstrip(",")
        promised = PROMISED[family]
        found[case.name] = {}
        for scheme in promised:
            curve = (sizes[family], [case.error(n, scheme) for n in sizes[family]])
            found[case.name][scheme] = curve
            least = promised[scheme] * share if case.is_smooth else AT_A_JUMP
            quantities.append(_order(case, scheme, curve, least=least))
            if not case.is_smooth:
                at_jumps.append(quantities[-1].measured)
    if at_jumps:
        quantities.append(
            Quantity(
                "least order of all schemes where a ReLU makes the density jump",
                min(at_jumps),
                AT_A_JUMP,
                0.0,
                "at least",
                key="jump",
                shows="condition",
            )
        )
    return {"quantities": quantities, "figures": {"orders": figure(found)}}


def _order(case: ExactCase, scheme: str, curve: tuple, *, least: float) -> Quantity:
    return Quantity(
        f"{case.name}, {scheme}: order (error {curve[1][-1]:.1e} on {curve[0][-1]})",
        order(*curve),
        least,
        0.0,
        "at least",
    )


def figure(found: dict[str, dict]) -> object:
    """One panel a case."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9.5, 5.0), layout="constrained")
    axes = drawn.subplots(2, 4).ravel()
    for ax, (name, curves) in zip(axes, found.items(), strict=False):
        labels = {"xlabel": "cells (rings on S²)", "ylabel": "L1 error"}
        log_log(ax, curves, title=name, names=SCHEMES, **labels)
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    # Beside the panels: inside, it would hide the lowest curve.
    drawn.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower right",
        fontsize=8,
        frameon=False,
    )
    return drawn
