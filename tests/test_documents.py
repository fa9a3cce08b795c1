"""README and docs: every code block runs as it is written, and every link has its target."""

from __future__ import annotations

import ast
import html
import pkgutil
import re
from functools import cache, reduce

import pytest
from documents import ROOT, Page, blocks, pages

import mfpde

PAGES = {str(path.relative_to(ROOT)): path for path in pages()}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


CODE = {"python", "console", "toml"}
RUN = [
    name for name, path in PAGES.items() if CODE & {b.language for b in blocks(path)}
]
LONG = ("films.md", "sweeps.md")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.endswith(LONG) else [])
        for name in RUN
    ],
)
def test_the_code_of_a_page_runs(name, elsewhere, request) -> None:
    page = Page(PAGES[name], slow=request.config.getoption("--run-slow"))
    page.run()
    if name.endswith("stationary.md"):
        assert page.names["polished"].converged
        assert any(event.kind == "split" for event in page.names["branch"].events)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if "notebooks/" in name])
def test_a_notebook_runs(name, elsewhere) -> None:
    assert Page(PAGES[name], slow=True).run() >= 3


@pytest.mark.parametrize("name", PAGES)
def test_links_have_targets(name) -> None:
    path = PAGES[name]
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|#|mailto:", target):
            continue
        file = target.partition("#")[0]
        assert (path.parent / file).exists(), f"{name}: {target}"


def test_files_that_are_named_are_there() -> None:
    named = r"[`(]((?:validation|tests|examples|benchmarks)/[\w./]*)[`)]"
    texts = [path.read_text(encoding="utf-8") for path in PAGES.values()]
    files = {file for text in texts for file in re.findall(named, text)}
    assert len(files) >= 6
    assert [file for file in files if not (ROOT / file).exists()] == []


FORMULAS = {
    name: dict(re.findall(r"^- (code|test|report): (.*)$", text, re.MULTILINE))
    for name, text in re.findall(
        r"^### (.*?)$(.*?)(?=^##|\Z)",
        (ROOT / "docs" / "formula_to_code.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}


@cache
def report_claims() -> dict[str, tuple[str, set[str]]]:
    """Verdict and names of rows of each script, as in ``theorems/theorem_3_1``."""
    claims = {}
    for page in (ROOT / "validation" / "report" / "claims").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        (script,) = re.findall(r"^Script: \[([^\]]+)\]", text, re.MULTILINE)
        (verdict,) = re.findall(r"^\*\*(.*?)\*\*", text, re.MULTILINE)
        cells = re.findall(r"^\| (.*?)(?<!\\) \| ", text, re.MULTILINE)
        rows = {re.sub(r"\\(.)", r"\1", html.unescape(cell)) for cell in cells}
        claims[script.replace("\\", "")] = (verdict, rows)
    return claims


@cache
def functions_in(module: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / module).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def found(name: str) -> object:
    """What a dotted name of ``mfpde`` stands for, or of a module; an error if nothing."""
    if name.split(".")[0] not in ("mfpde", "validation"):
        return reduce(getattr, name.split("."), mfpde)
    return pkgutil.resolve_name(name)


@pytest.mark.parametrize("name", FORMULAS)
def test_what_a_statement_names_is_there(name) -> None:
    parts = FORMULAS[name]
    code = re.findall(r"`([\w.]+)`", parts["code"])
    assert code
    assert all(found(each) is not None for each in code)
    tests = re.findall(r"`(\w+\.py)::(\w+)`", parts["test"])
    assert tests
    assert [test for module, test in tests if test not in functions_in(module)] == []
    if parts["report"].startswith("none; "):
        return
    scripts = re.split(r"; (?=`\w+/)", parts["report"])
    for text in scripts:
        script, verdict, rows = re.fullmatch(r"`(.*?)` \((.*?)\): (.*)", text).groups()
        told, names = report_claims()[script]
        assert verdict == told
        assert set(re.findall(r"`(.*?)`", rows)) <= names, script


def test_claims_are_counted_as_in_the_report() -> None:
    report, readme, paper = (
        " ".join((ROOT / place).read_text(encoding="utf-8").split())
        for place in ("validation/README.md", "README.md", "docs/paper/paper.md")
    )
    (counts,) = re.findall(
        r"\*\*(\d+ claims: .*?)\.\*\* (\d+ of \d+) quantities", report
    )
    assert all(counts[0] in text for text in (readme, paper))
    assert all(counts[1] in text for text in (readme, paper))
