"""Settings of the documentation: ``make docs`` builds it, and warnings are errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

import mfpde

ROOT = Path(__file__).parent.parent

project = "mfpde"
author = "The mfpde developers"
project_copyright = f"2026, {author}"
version = release = mfpde.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
#    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "paper", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]
nitpicky = False

# Pages are Markdown; notebooks among them are executed when the documentation is built.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# Progress lines of what is compiled once are no result.
nb_output_stderr = "remove"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"inherited-members": False}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Docstrings speak in lines of code, not in cross-references to each type.
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"mfpde {release}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_static_path = ["_static"]


class DrawnFigures:
    """Figures that an example holds in a name, since none of them is made by pyplot."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def __repr__(self) -> str:
        return "DrawnFigures()"

    def __call__(self, _: Any, block_vars: Any, gallery_conf: Any) -> str:
        """Save each figure that is new, and return the text that shows it."""
        saved = []
        paths = block_vars["image_path_iterator"]
        for value in block_vars["example_globals"].values():
            if isinstance(value, Figure) and id(value) not in self.seen:
                self.seen.add(id(value))
                path = next(paths)
                value.savefig(path, dpi=130)
                saved.append(path)
        return str(figure_rst(saved, gallery_conf["src_dir"]))


sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py$",
    "image_scrapers": (DrawnFigures(),),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.toml",
}
