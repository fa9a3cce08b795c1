"""The house: few files at the root, few floors, nothing hidden, each idea in one place."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mfpde
import validation.references

PACKAGE = Path(mfpde.__file__).parent
MOST_ROOT_FILES = 11
MOST_LAYERS = 14
MOST_CLASS_QUESTIONS = 6


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def place(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_one_contract_orders_every_folder_in_few_layers() -> None:
    files = sorted(path.name for path in PACKAGE.glob("*.py"))
    assert len(files) <= MOST_ROOT_FILES, files
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (c for c in contracts if c["type"] == "layers")
    assert layers["exhaustive"]
    assert layers["containers"] == ["mfpde"]
    assert len(layers["layers"]) <= MOST_LAYERS
    named = [n.strip() for layer in layers["layers"] for n in re.split("[|:]", layer)]
    there = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    there |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(named) == sorted(there)


def nodes_of(*kinds: type[ast.AST]) -> Iterator[tuple[str, Any]]:
    """Go through the parts of the sources that are of these kinds, with their files."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, kinds):
                yield place(path), node


@pytest.mark.parametrize(
    "classes",
    ["Circle|Sphere|Zonal", "Perceptron|Potential|Attention|Interaction"],
    ids=["geometry", "term"],
)
def test_objects_are_asked_questions_not_their_class(classes) -> None:
    """Places outside ``geometry/`` where ``isinstance`` asks for one of them."""
    asked = [
        f"{file}:{node.lineno}"
        for file, node in nodes_of(ast.Call)
        if ast.unparse(node.func) in ("isinstance", "issubclass")
        and not file.startswith("geometry/")
        and re.search(rf"\b({classes})\b", ast.unparse(node.args[1]))
    ]
    assert len(asked) <= MOST_CLASS_QUESTIONS, asked


def test_the_exponential_kernel_is_written_in_one_module() -> None:
    """K = exp(beta (x.y - 1)) of attention: everything else asks the kernel."""
    pattern = re.compile(r"exp(onential)?\(\s*-?[\d.\s*]*(\w+\.)*beta\b")
    found = {
        file
        for file, node in nodes_of(ast.Call)
        if ast.unparse(node.func) in ("np.exp", "exp", "exponential")
        and pattern.search(ast.unparse(node))
    }
    assert found == {"terms/exponential_kernel.py"}


SOLVER = ("mfpde.solver", "mfpde.transport")


def test_no_reference_imports_the_density_solver() -> None:
    """What runs are judged against is right if they agree: it shares nothing with them."""
    for path in Path(validation.references.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                parts = name.split(".")
                assert not any(
                    parts[: len(banned)] == banned
                    for banned in (module.split(".") for module in SOLVER)
                ), f"{path.name} imports {name}"
