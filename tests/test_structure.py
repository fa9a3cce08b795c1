"""The house: few files at the root, few floors, nothing hidden."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import mfpde

PACKAGE = Path(mfpde.__file__).parent
MOST_ROOT_FILES = 10
MOST_LAYERS = 14


def test_the_root_has_few_files() -> None:
    files = sorted(path.name for path in PACKAGE.glob("*.py"))
    assert len(files) <= MOST_ROOT_FILES, files


def test_one_contract_orders_every_folder_in_few_layers() -> None:
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (c for c in contracts if c["type"] == "layers")
    assert layers["exhaustive"]
    assert layers["containers"] == ["mfpde"]
    assert len(layers["layers"]) <= MOST_LAYERS
    named = [name.strip() for layer in layers["layers"] for name in layer.split("|")]
    there = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    there |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(named) == sorted(there)


def test_no_module_is_hidden_by_a_function_of_its_name() -> None:
    """``import mfpde.a.b`` finds the module where ``mfpde.a`` has no function b."""
    hidden = []
    for init in PACKAGE.rglob("__init__.py"):
        modules = {path.stem for path in init.parent.glob("*.py")} | {
            path.parent.name for path in init.parent.glob("*/__init__.py")
        }
        for node in ast.parse(init.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = {node.name}
            elif isinstance(node, ast.ImportFrom):
                # ``from mfpde import theory`` is the package itself.
                is_own = node.module == ".".join(
                    ("mfpde", *init.parent.relative_to(PACKAGE).parts)
                )
                names = set() if is_own else {a.asname or a.name for a in node.names}
            else:
                continue
            hidden += [f"{init.parent.name}.{name}" for name in names & modules]
    assert hidden == []
