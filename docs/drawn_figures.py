"""How the gallery finds the figures of an example, none of which is made by pyplot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_SEEN: set[int] = set()


def drawn_figures(_: Any, block_vars: Any, gallery_conf: Any) -> str:
    """Save each figure that the example holds in a name, and return the text that shows it."""
    saved = []
    paths = block_vars["image_path_iterator"]
    for value in block_vars["example_globals"].values():
        if isinstance(value, Figure) and id(value) not in _SEEN:
            _SEEN.add(id(value))
            path = next(paths)
            value.savefig(path, dpi=130)
            saved.append(path)
    return str(figure_rst(saved, gallery_conf["src_dir"]))


def _get_sg_image_scraper() -> Callable[[Any, Any, Any], str]:
    """Answer the gallery, which asks a module that is named as a scraper."""
    return drawn_figures
