"""A script of this section on its own: print its quantities, draw its figures.

python -m validation.figures.figure_01 [--quick] [directory]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def show(main: Callable[..., dict[str, Any]]) -> None:
    """Run ``main`` with the arguments of the command line."""
    began = time.process_time()
    arguments = sys.argv[1:]
    found = main(quick="--quick" in arguments)
    for quantity in found["quantities"]:
        print(
            f"{'ok ' if quantity.holds else 'OUT'} {quantity.name}: "
            f"{quantity.measured:.6g}, {quantity.rule} {quantity.expected:.6g} "
            f"± {quantity.allowed:.2g}"
        )
    print(f"{time.process_time() - began:.1f} s of processor time")
    places = [a for a in arguments if not a.startswith("--")]
    for name, figure in found["figures"].items() if places else ():
        figure.savefig(Path(places[0]) / f"{name}.png")
