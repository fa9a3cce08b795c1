"""Code blocks of README and docs: found, marked, and run as they are written.

A comment before a block says what is special about it:

    <!-- test: output -->               a text block: what was printed since the last one
    <!-- test: slow -->                 runs with --run-slow only
    <!-- test: exit 2 -->               the last command of a console block ends with this code
    <!-- test: not run: reason -->      never
    <!-- test: file NAME -->            written to a file of this name, as a reader would
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mfpde.commands.command_line import main

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r"(?:^<!-- test: (?P<mark>[^\n]*?) -->\n+)?"
    r"^```(?P<language>[^\n`]*)\n(?P<code>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block of a page, and what the comment before it says."""

    language: str
    code: str
    mark: str
    line: int


def pages() -> list[Path]:
    """Return README and the pages of docs/, without what is generated."""
    made = ("_build", "gallery", "generated", "paper")
    found = [
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not set(made) & set(path.relative_to(ROOT).parts)
    ]
    return [ROOT / "README.md", *found]


def blocks(path: Path) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text[: found.start("code")].count("\n") + 1
        language = found["language"].strip()
        yield Block(language, found["code"], found["mark"] or "", line)


class Page:
    """A page that is run from the first block to the last, in one namespace."""

    def __init__(self, path: Path, *, slow: bool) -> None:
        self.path, self.slow = path, slow
        self.names: dict[str, object] = {"__name__": "page"}
        self.said = ""
        self.left_out = False

    def run(self) -> int:
        """Run all blocks, and return how many of them ran."""
        return sum(self._run(block) for block in blocks(self.path))

    def _run(self, block: Block) -> bool:
        mark = block.mark
        if mark != "output":
            is_for_later = mark == "slow" and not self.slow
            self.left_out = mark.startswith("not run:") or is_for_later
        if self.left_out:
            return False
        where = f"{self.path.name}, line {block.line}"
        if mark == "output":
            self.compare(block.code, where)
        elif mark.startswith("file "):
            Path(mark[5:]).write_text(block.code, encoding="utf-8")
        elif block.language in ("python", "{code-cell} ipython3"):
            self._python(block, where)
        elif block.language == "console":
            self._commands(block, where)
        else:
            # A mark that is misspelt would be taken for none.
            assert not mark, f"{where}: {mark}"
            if block.language == "toml":
                tomllib.loads(block.code)
            return False
        return True

    def _python(self, block: Block, where: str) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block.code, where, "exec", dont_inherit=True), self.names)
        self.said = said.getvalue()

    def _commands(self, block: Block, where: str) -> None:
        joined = block.code.replace("\\\n", " ")
        lines = re.findall(r"^\$ mfpde (.*)$", joined, flags=re.MULTILINE)
        wanted = int(block.mark[5:]) if block.mark.startswith("exit ") else 0
        for line in lines:
            said, complaint = io.StringIO(), io.StringIO()
            with (
                contextlib.redirect_stdout(said),
                contextlib.redirect_stderr(complaint),
            ):
                code = main(shlex.split(line, comments=True))
            self.said = said.getvalue() + complaint.getvalue()
            is_last = line == lines[-1]
            assert code == (wanted if is_last else 0), f"{where}: {line}: {self.said}"
        printed = "".join(
            f"{text}\n" for text in joined.splitlines() if not text.startswith("$ ")
        )
        if lines and printed.strip():
            self.compare(printed, where)

    def compare(self, wanted: str, where: str) -> None:
        """Compare with what was printed last; ``...`` stands for anything."""
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        agrees = doctest.OutputChecker().check_output(wanted, self.said, options)
        assert agrees, f"{where} says\n{wanted}\nand it prints\n{self.said}"
