"""What a script found, kept as JSON beside its figures."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cattrs import BaseValidationError, structure

from validation.claim import FAILED, Claim, Quantity, verdict

FIGURES = "figures"
CLAIMS = "claims"
"""Folder of the pages of claims, beside the report's first page."""
RESULTS = "results"
FIGURE_BYTES = 100_000
RESOLUTIONS = (150, 120, 100, 80, 60)


@dataclass(frozen=True)
class Script:
    """A claim of a section: ``main`` of the module of its name, or its name in ``home``."""

    section: str
    name: str
    home: str = ""

    @property
    def key(self) -> str:
        """The name under which its results are kept."""
        return f"{self.section}/{self.name}"

    @property
    def module(self) -> str:
        """Where it is imported from."""
        return f"validation.{self.section}.{self.home or self.name}"

    @property
    def main(self) -> Any:
        """The function that measures; its attribute ``claim`` is what is claimed."""
        module = importlib.import_module(self.module)
        return getattr(module, self.name if self.home else "main")


@dataclass(frozen=True)
class Result:
    """What a script found, or how it failed.

    Parameters
    ----------
    claim, quantities
        What is claimed and what was measured; empty if the script could not be imported.
    figures
        Names of its PNG files in the directory ``figures``, without the suffix.
    error
        What it raised; empty if it ended well.
    quick
        Whether it ran at reduced size.
    seconds
        Processor time that it took, whatever else the machine did.
    digest
        Of the sources; see :func:`validation.sources.source_digest`.
    printed
        What it printed, and the traceback if it raised.
    """

    script: Script
    claim: Claim
    quantities: tuple[Quantity, ...] = ()
    figures: tuple[str, ...] = ()
    error: str = ""
    quick: bool = False
    seconds: float = 0.0
    digest: str = ""
    printed: str = ""

    @property
    def verdict(self) -> str:
        """What the quantities say about the claim; failed if the script raised."""
        return FAILED if self.error else verdict(self.claim, self.quantities)

    @property
    def holds(self) -> bool:
        """Whether it ended well with all quantities within their tolerances."""
        return self.verdict != FAILED


def result_path(out: Path, script: Script, *, quick: bool) -> Path:
    """Return where the result of ``script`` is kept below ``out``."""
    suffix = ".quick.json" if quick else ".json"
    return out / RESULTS / f"{script.section}.{script.name}{suffix}"


def write_result(result: Result, out: Path) -> None:
    """Keep ``result`` below ``out``; an interrupted write leaves the old one."""
    path = result_path(out, result.script, quick=result.quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    fresh.write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
    fresh.replace(path)


def read_result(script: Script, out: Path, *, quick: bool) -> Result | None:
    """Return what is kept of ``script``, or None if nothing, or nothing whole, is."""
    try:
        path = result_path(out, script, quick=quick)
        result = structure(json.loads(path.read_text(encoding="utf-8")), Result)
    except (OSError, ValueError, TypeError, BaseValidationError):
        return None
    whole = all(figure_path(out, name).exists() for name in result.figures)
    return result if whole else None


def figure_path(out: Path, name: str) -> Path:
    """Return the file of the figure ``name`` below ``out``."""
    return out / FIGURES / f"{name}.png"


def write_figures(figures: Mapping[str, Any], out: Path, *, prefix: str) -> list[str]:
    """Save matplotlib figures below ``out`` and return their names, with ``prefix``."""
    names = [f"{prefix}.{name}" for name in figures]
    for name, figure in zip(names, figures.values(), strict=True):
        path = figure_path(out, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small_png(figure))
    return names


def claim_path(out: Path, script: Script) -> Path:
    """Return the page of the claim of ``script`` below ``out``."""
    return out / CLAIMS / f"{script.section}.{script.name}.md"


def remove_stale_files(results: Sequence[Result], out: Path) -> None:
    """Remove pages and figures below ``out`` that no result has, of scripts that are gone."""
    kept = {claim_path(out, result.script) for result in results}
    kept |= {figure_path(out, name) for result in results for name in result.figures}
    for path in [*(out / FIGURES).glob("*.png"), *(out / CLAIMS).glob("*.md")]:
        if path not in kept:
            path.unlink()


def small_png(figure: Any) -> bytes:
    """Draw ``figure`` in 256 colours, at the finest resolution below 100 kB."""
    from PIL import Image

    for resolution in RESOLUTIONS:
        drawn, packed = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=resolution, facecolor="white")
        picture = Image.open(drawn).convert("RGB")
        picture.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(
            packed, format="png", optimize=True
        )
        if packed.tell() <= FIGURE_BYTES:
            break
    return packed.getvalue()
