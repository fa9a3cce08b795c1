"""Write figures to disk, with the same bytes for the same figure."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOTS_PER_INCH = 200
SUFFIXES = (".pdf", ".png", ".svg", ".eps", ".ps", ".jpg", ".jpeg")


def save_figure(figure: Figure | Axes, path: str | Path) -> tuple[Path, Path]:
    """Write ``figure`` as PDF and as PNG (200 dpi) next to one another.

    No date enters the files, so that the same figure gives the same bytes.

    Parameters
    ----------
    figure
        A figure, or axes in it.
    path
        Where to write; the ending of a picture is replaced by ``.pdf`` and ``.png``,
        any other is kept as a part of the name.  Missing directories are made.

    Returns
    -------
    The paths of the PDF and the PNG.

    Raises
    ------
    ValueError
        If the axes belong to no figure.
    """
    whole = figure.get_figure(root=True)
    if not isinstance(whole, Figure):
        raise ValueError(
            f"figure = {figure!r} must be a figure, or axes that are in one"
        )
    path = Path(path)
    stem = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    pdf, png = stem.with_name(stem.name + ".pdf"), stem.with_name(stem.name + ".png")
    stem.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"pdf.fonttype": 42}):
        whole.savefig(
            pdf,
            dpi=DOTS_PER_INCH,
            metadata={"Creator": "mfpde", "Producer": None, "CreationDate": None},
        )
        whole.savefig(png, dpi=DOTS_PER_INCH, metadata={"Software": "mfpde"})
    return pdf, png
