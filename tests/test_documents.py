"""README and docs: every code block runs as it is written, and every link has its target."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from documents import ROOT, Page, blocks, is_there, pages

import mfpde

PAGES = {str(path.relative_to(ROOT)): path for path in pages()}
LANGUAGES = {"python", "console", "text", "toml", "bash", "bibtex", ""}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Return a folder with the examples and nothing else, and go there."""
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("r*")
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def has_code(path: Path) -> bool:
    return any(block.language in ("python", "console") for block in blocks(path))


@pytest.mark.parametrize(
    "name", [name for name, path in PAGES.items() if has_code(path)]
)
def test_the_code_of_a_page_runs(name, elsewhere, request) -> None:
    slow = request.config.getoption("--run-slow")
    Page(PAGES[name], slow=slow).run()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if "notebooks/" in name])
def test_a_notebook_runs(name, elsewhere) -> None:
    assert Page(PAGES[name], slow=True).run() >= 3


@pytest.mark.parametrize("name", PAGES)
def test_blocks_are_of_a_kind_that_is_checked(name) -> None:
    for block in blocks(PAGES[name]):
        is_directive = block.language.startswith("{")
        assert is_directive or block.language in LANGUAGES, block
        if block.mark.startswith("needs "):
            # The name is spelt as one that can be found.
            assert re.fullmatch(r"needs (command [a-z-]+|mfpde(\.\w+)+)", block.mark)
        if block.language == "toml":
            tomllib.loads(block.code)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nraise ValueError\n```\n",
        "```python\nprint(1)\n```\n\n<!-- test: output -->\n\n```text\n2\n```\n",
        "```console\n$ mfpde theory beta=5 dimension=nonsense\n```\n",
        "```console\n$ mfpde --version\nmfpde 0.0.0\n```\n",
    ],
)
def test_a_wrong_page_is_noticed(tmp_path, text) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises((ValueError, AssertionError, SystemExit)):
        Page(page, slow=False).run()


def test_names_that_pages_wait_for_are_looked_up() -> None:
    assert is_there("mfpde.solve")
    assert is_there("command run")
    assert not is_there("mfpde.not_there")
    assert not is_there("command not-there")


@pytest.mark.parametrize("name", PAGES)
def test_links_have_targets(name) -> None:
    path = PAGES[name]
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|#|mailto:", target):
            continue
        file = target.partition("#")[0]
        assert (path.parent / file).exists(), f"{name}: {target}"


def test_files_that_are_named_are_there() -> None:
    named = set()
    for path in PAGES.values():
        text = path.read_text(encoding="utf-8")
        named |= set(
            re.findall(r"`((?:validation|tests|examples|benchmarks)/[\w./]+)`", text)
        )
    assert len(named) >= 10
    missing = [file for file in named if not (ROOT / file).exists()]
    assert missing == []


# The reference -------------------------------------------------------------------------------


def test_the_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([A-Za-z_.]+)$", text, flags=re.MULTILINE))
    public = {name for name in mfpde.__all__ if name not in ("__version__", "theory")}
    public |= set(mfpde.theory.__all__)
    assert sorted(public - listed) == []


def test_every_page_is_in_the_contents() -> None:
    listed = set()
    for path in PAGES.values():
        for block in blocks(path):
            if block.language == "{toctree}":
                entries = [line for line in block.code.split() if ":" not in line]
                listed |= {(path.parent / f"{entry}.md").resolve() for entry in entries}
    docs = {path.resolve() for path in PAGES.values() if "docs" in path.parts[-3:-1]}
    docs |= {
        path.resolve() for path in PAGES.values() if path.parent.parent.name == "docs"
    }
    missing = docs - listed - {ROOT / "docs" / "index.md"}
    assert sorted(map(str, missing)) == []
