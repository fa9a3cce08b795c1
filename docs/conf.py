"""Settings of the documentation: ``make docs`` builds it, and warnings are errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import mfpde

# The gallery finds figures by the module drawn_figures.py here.
sys.path.insert(0, str(Path(__file__).parent))

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
    "sphinx_gallery.gen_gallery",
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
# The home page has tabs above it and nothing beside it.
html_sidebars = {"index": []}
html_static_path = ["_static"]


def escaped(line: str) -> str:
    """Return a line of a docstring with |x| and products as they are read, not as markup."""
    parts = re.split(r"(``[^`]*``|`[^`]*`)", line)
    for index in range(0, len(parts), 2):
        plain = parts[index].replace("|", r"\|")
        is_argument = index == 0 and plain.lstrip().startswith("*")
        if not is_argument:
            plain = re.sub(r"(?<!\*)\*(?!\*)", r"\*", plain)
        # beta_* and the like are no targets of links.
        parts[index] = re.sub(r"(?<=\w)_(?=[\W]|$)", r"\_", plain)
    return "".join(parts)


def escape_formulas(*arguments: Any) -> None:
    """Let docstrings write absolute values and products plainly (autodoc's hook)."""
    lines: list[str] = arguments[-1]
    lines[:] = [escaped(line) for line in lines]


def setup(app: Any) -> None:
    """Connect the hook before numpydoc's own."""
    app.connect("autodoc-process-docstring", escape_formulas, priority=100)


sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py$",
    "image_scrapers": ("drawn_figures",),
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.toml",
}
