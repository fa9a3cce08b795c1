"""The words of the command line: help that explains each of them, and errors of one line."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time

import pytest

from mfpde.commands.command_line import main

COMMANDS = (
    *("run", "resume", "settings", "show", "plot", "view"),
    *("minimize", "continuation", "phase-diagram", "theory", "sweep", "verify"),
)


def test_help_lists_every_command_in_its_group_with_a_sentence(capsys) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    for group in ("Run", "Look", "States", "Studies"):
        assert f"─ {group} " in said
    for command in COMMANDS:
        assert re.search(rf"│ {command} +[A-Z]\w+ ", said), command
    assert "Exit codes: 0 done" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_explains_each_word_and_has_an_example(
    command, capsys
) -> None:
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"^Example: mfpde {command}( |$)", said, flags=re.MULTILINE)
    words = re.findall(r"^│ (?:\* )? *(--\S+|[A-Z]+)( .*)│$", said, flags=re.MULTILINE)
    for word, rest in words:
        assert re.search(r"[a-z]{3} ", rest.partition("[")[0]), f"{word}: {rest}"
    # Nothing runs over the width of a terminal.
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run", 'mfpde run: Command "run" parameter CONFIG requires an argument.'),
        ("run x.toml y.toml", "mfpde run: Unused Tokens: ['y.toml']."),
        (
            "run x.toml --quit",
            "mfpde run: Unknown option: --quit. Did you mean --quiet?",
        ),
        ("run x.toml --set", '"run" parameter --set requires an argument.'),
        ("sweep x --workers 2.7", "--workers: '2.7' must be a whole number"),
        ("minimize x --tolerance x", '--tolerance: unable to convert "x" into float'),
        (
            "phase-diagram --dimension 3 --betas 64,abc",
            "--betas: '64,abc' must be numbers with commas",
        ),
        (
            "phase-diagram --dimension 3 --betas 1 --kernel shift",
            '"shift" for --kernel. Choose from: "shifted", "unshifted". Did you mean',
        ),
        (
            "show x.zarr --origin=3",
            '--origin: unable to convert "3" into bool',
        ),
        ("rnu x.toml", 'mfpde rnu: Unknown command "rnu". Did you mean "run"?'),
        ("--foo", 'mfpde: Unknown command "--foo". Available commands: run, resume'),
        ("view", 'mfpde view: Command "view" parameter STORE requires'),
        ("verify --only", "parameter --only requires at least 1 element"),
    ],
)
def test_wrong_words_are_one_line_that_says_what_is_allowed(
    words, expected, capsys
) -> None:
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert expected in said.err


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "mfpde", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("mfpde ")


def test_the_first_word_on_a_terminal_comes_at_once(tmp_path) -> None:
    """Measured in what the process has computed by then: other work may slow it down."""
    here, there = pty.openpty()
    began = time.monotonic()
    command = [sys.executable, "-m", "mfpde", "show", str(tmp_path / "none.zarr")]
    with subprocess.Popen(command, stderr=there, stdout=subprocess.DEVNULL) as running:
        os.close(there)
        word = os.read(here, 100).decode()
        taken = time.monotonic() - began
        assert running.wait() == 2
    os.close(here)
    assert "mfpde show: loading" in word
    assert taken < 3.0
