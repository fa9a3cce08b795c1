"""The scripts of validation/ in their quick forms; the runner; verdicts and the report."""

import os
import sys
import tempfile
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from mfpde.commands.command_line import main
from validation import claim as claims
from validation import report, runner
from validation.claim import Claim, Quantity
from validation.results import (
    Result,
    Script,
    figure_path,
    read_result,
    remove_stale_files,
)
from validation.sources import digest_in, whole_digest

CLAIM = Claim("A title | with a bar", "Theorem 3.5", "Two < three.")
NAN, INF = float("nan"), float("inf")

SCRIPT = """
import os
from matplotlib.figure import Figure
from validation.claim import Claim, equal

CLAIM = Claim("A case", "Lemma 0", "One is one.")

@CLAIM
def main(quick=False):
    {body}
    figure = Figure()
    figure.subplots().plot([0, 1])
    yield equal("one", 1, {expected}, 1e-9)
    yield "line", figure
"""
BODIES = {
    "sound": ("print('said')", 1.0),
    "wrong": ("pass", 2.0),
    "raising": ("raise ArithmeticError('no such number')", 1.0),
    "dying": ("os._exit(7)", 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("script", runner.all_scripts(), ids=lambda s: s.key)
def test_quick_form(script: Script, tmp_path: Path) -> None:
    result = runner.run_script(script, tmp_path, quick=True)
    bad = [quantity for quantity in result.quantities if not quantity.holds]
    assert result.holds, result.error + result.printed + str(bad)
    assert read_result(script, tmp_path, quick=True) == result


@pytest.fixture
def cases(tmp_path, monkeypatch) -> list[Script]:
    """Return scripts of a section of their own, one for each of BODIES."""
    folder = tmp_path / "sources" / "validation" / "cases"
    folder.mkdir(parents=True)
    for name, (body, expected) in BODIES.items():
        text = SCRIPT.format(body=body, expected=expected)
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder.parents[1]))
    return [Script("cases", name) for name in BODIES]


def test_scripts_that_fail_leave_the_others_alone(cases, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    chosen = [cases[0], *cases[2:]]
    results = runner.run_scripts(chosen, tmp_path, jobs=2)
    assert [result.script for result in results] == chosen
    sound, raising, dying = results
    assert [result.holds for result in results] == [True, False, False]
    assert sound.verdict == claims.MEASURED
    assert sound.printed == "said\n"
    assert figure_path(tmp_path, *sound.figures).stat().st_size < 100_000
    assert raising.error == "ArithmeticError: no such number"
    assert raising.claim.title == "A case"
    assert dying.error == runner.PROCESS_DIED
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_results_are_used_again_while_the_sources_are_the_same(cases, tmp_path) -> None:
    scripts = cases[:3]
    first = runner.run_scripts(scripts, tmp_path, jobs=0)
    again = runner.run_scripts(scripts, tmp_path, jobs=0)
    # Times tell a result that was kept from one that was computed again.
    assert again[:2] == first[:2]
    assert again[2].seconds != first[2].seconds
    assert [result.holds for result in again] == [True, False, False]
    assert [bool(result.error) for result in again] == [False, False, True]
    assert runner.run_scripts(scripts[:1], tmp_path, jobs=0, fresh=True) != first[:1]
    remove_stale_files(first[:1], tmp_path)
    assert figure_path(tmp_path, *first[0].figures).exists()
    assert read_result(scripts[1], tmp_path, quick=False) is None
    assert read_result(scripts[0], tmp_path, quick=True) is None


RELATIVE = partial(claims.equal, relative=True)
HOLD = [
    (claims.equal, 1.0, 1.1, 0.1001),
    (RELATIVE, 90.0, 100.0, 0.1001),
    (RELATIVE, -110.0, -100.0, 0.1001),
    (claims.at_most, 1.0, 2.0, 0.0),
    (claims.at_least, 2.0, 1.0, 0.0),
]
FAIL = [
    (claims.equal, 1.0, 1.1, 0.0999),
    (RELATIVE, 90.0, 100.0, 0.0999),
    (claims.at_most, 2.0, 1.0, 0.5),
    (claims.at_least, 1.0, 2.0, 0.5),
    *((claims.equal, *three) for three in permutations((NAN, 1.0, 1.0))),
    *((claims.equal, *three) for three in ((1.0, 2.0, INF), (INF, INF, 0.1))),
    *((claims.at_most, *three) for three in ((1.0, INF, 0.1), (-INF, 1.0, 0.1))),
    (RELATIVE, 1.0, INF, 0.1),
]


def test_only_finite_values_within_the_tolerance_hold() -> None:
    assert all(row("", *numbers).holds for row, *numbers in HOLD)
    assert not any(row("", *numbers).holds for row, *numbers in FAIL)


def test_a_main_yields_rows_and_pictures() -> None:
    @CLAIM
    def main(quick: bool):
        yield claims.vanishes("largest of an array", np.array([1.0, -2.0]), 2.5)
        yield claims.vanishes("a number keeps its sign", np.float32(-1), 0.5)
        yield from claims.mark([GOOD], under="S^1: ", subject="formula", tries=3)
        yield "map", None if quick else 7

    largest, signed, marked = main(quick=True)["quantities"]
    assert (largest.measured, largest.holds) == (2.0, True)
    assert (signed.measured, signed.holds) == (-1.0, False)
    assert type(signed.measured) is float
    assert marked == replace(GOOD, name="S^1: q", subject="formula", tries=3)
    assert claims.vanishes("nan", np.array([NAN, 0.0]), 1.0).holds is False
    assert main()["figures"] == {"map": 7}
    with pytest.raises(TypeError, match="no row"):
        CLAIM(lambda quick: iter([[GOOD]]))()


GOOD, BAD = Quantity("q", 1.0, 1.0, 0.1), Quantity("bad | q", 2.0, 1.0, 0.1)
ON_CONDITION = Quantity("c", 3.0, 3.0, 0.1, key="count", shows="condition")
ON_REFUTATION = Quantity("r", 0.25, 0.5, 0.0, "at most", key="rate", shows="refutation")


def test_verdicts_follow_from_the_quantities() -> None:
    condition, refutation = {"condition": "beta > 1"}, {"refutation": "it is larger"}
    expected = [
        ({}, claims.MEASURED),
        (condition, f"{claims.MEASURED}, with a condition"),
        (refutation, claims.CONTRADICTED),
        (condition | refutation, claims.CONTRADICTED_IN_PART),
        (condition | {"at_guessed_beta": True}, claims.REPRODUCED),
    ]
    shown = [GOOD, ON_CONDITION, ON_REFUTATION]
    for given, word in expected:
        claim = Claim("c", "s", "t", **given)
        assert claims.verdict(claim, shown) == word
        assert claims.verdict(claim, [*shown, BAD]) == claims.FAILED
        # A condition or refutation that no quantity shows has failed.
        for hidden in (ON_CONDITION, ON_REFUTATION):
            if hidden.shows in given:
                left = [quantity for quantity in shown if quantity is not hidden]
                assert claims.verdict(claim, left) == claims.FAILED
    assert claims.verdict(CLAIM, []) == claims.FAILED
    assert (
        Result(Script("a", "b"), CLAIM, (GOOD,), error="E: e").verdict == claims.FAILED
    )


def test_a_search_counts_its_tries_and_a_duality_gap_proves() -> None:
    search = replace(GOOD, tries=12)
    gap = replace(GOOD, certificate=True)
    assert (
        claims.verdict(CLAIM, [GOOD, search, search]) == "no counterexample in 24 tries"
    )
    assert claims.verdict(CLAIM, [GOOD, gap]) == "proved by certificate"
    # Whatever gaps its examples have: they are examples.
    assert claims.verdict(CLAIM, [gap, search]) == "no counterexample in 12 tries"
    condition = replace(CLAIM, condition="beta > 1")
    told = claims.verdict(condition, [search, ON_CONDITION])
    assert told == "no counterexample in 12 tries, with a condition"


def test_numbers_in_texts_are_those_of_quantities() -> None:
    text = "{count:word} at {rate:.1f}, bound {rate.expected:g}"
    claim = Claim("c", "s", "t", text, "{rate}")
    told = claim.told([ON_CONDITION, ON_REFUTATION])
    assert told.condition == "three at 0.2, bound 0.5"
    assert told.refutation == "0.25"
    with pytest.raises(ValueError, match="'rate', which is the key of no quantity"):
        claim.told([ON_CONDITION])
    quick = claim.told([ON_CONDITION], quick=True)
    assert (quick.condition, quick.refutation) == ("… at …, bound …", "")
    with pytest.raises(ValueError, match="same key"):
        claim.told([ON_CONDITION, ON_CONDITION])


@pytest.mark.parametrize("script", runner.all_scripts(), ids=lambda s: s.key)
def test_no_text_states_a_number_of_its_own(script: Script) -> None:
    claim = script.main.claim
    assert claims.numbers_without_quantity(claim.condition) == []
    assert claims.numbers_without_quantity(claim.refutation) == []


@pytest.mark.parametrize("page", ["README.md", "report/report.md"])
def test_the_committed_report_is_that_of_the_present_sources(page: str) -> None:
    """Made anew by ``python -m mfpde verify --update`` whenever mfpde or validation changes."""
    folder = Path(report.__file__).parent
    text = (folder / page).read_text(encoding="utf-8")
    assert digest_in(text) == whole_digest()[:16]


def test_report_shows_each_claim_with_its_verdict(tmp_path: Path) -> None:
    refuted = Claim("Second", "Figure 7", "t", refutation="there are more")
    near = Quantity("near", 1.05, 1.0, 0.1)
    results = [
        Result(Script("theorems", "one"), CLAIM, (GOOD, near), ("theorems.one.map",)),
        Result(Script("theorems", "two"), refuted, (GOOD, ON_REFUTATION)),
        Result(Script("figures", "three"), CLAIM, (GOOD, BAD)),
        Result(Script("figures", "four"), CLAIM, error="ValueError: x"),
    ]
    out, readme = tmp_path / "report", tmp_path / "README.md"
    written = report.write_report(results, out, readme=readme)
    assert written == [out / "report.md", readme]
    table = readme.read_text()
    claim = (out / "claims" / "theorems.one.md").read_text()
    assert "![theorems.one.map](../figures/theorems.one.map.png)" in claim
    assert "2 of 2 checks hold." in claim
    # The digits of a number are those of its tolerance.
    assert "| near | 1.05 | 1 | 0.1 |" in claim
    assert "Two &lt; three." in claim
    # One row each; bars are not columns.
    rows = [line for line in table.splitlines() if line.startswith("| [")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [5, 5, 5, 5]
    for row, words in zip(
        rows,
        (
            "](report/claims/theorems.one.md) | Theorem 3.5 | 2 | **measured** |",
            "**contradicted**: there are more",
            "**failed**: bad \\| q |",
            "**failed**: ValueError: x",
        ),
        strict=True,
    ):
        assert words in row
    assert "5 of 6 quantities" in table
    assert "**4 claims: 1 measured, 1 contradicted, 2 failed.**" in table


@pytest.fixture
def out(cases, tmp_path, monkeypatch) -> list[str]:
    """Return where the command writes; it knows two scripts, one of them wrong."""

    def in_this_process(scripts, out, *, quick, jobs):
        return (runner.run_script(script, out, quick=quick) for script in scripts)

    monkeypatch.setattr(runner, "all_scripts", lambda: cases[:2])
    monkeypatch.setattr(runner, "_in_processes", in_this_process)
    return ["--jobs", "1", "--out", str(tmp_path / "out")]


def test_command(out, tmp_path, capsys) -> None:
    assert main(["verify", "--only", "sound", *out]) == 0
    assert (tmp_path / "out" / "selected.md").exists()
    assert main(["verify", *out]) == 3
    assert "**2 claims: 1 measured, 1 failed.** 1 of 2" in capsys.readouterr().out


def contents(folder: Path) -> dict[Path, bytes]:
    files = [folder / "README.md", *(folder / "report").rglob("*")]
    return {file: file.read_bytes() for file in files if file.is_file()}


def test_the_report_of_the_checkout_is_made_anew_only_when_asked(
    out, tmp_path, monkeypatch, capsys
) -> None:
    folder, temporary = Path(report.__file__).parent, tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(temporary)
    before = contents(folder)
    for choice in (["--quick"], ["--only", "sound"], ["--fresh"]):
        main(["verify", "--jobs", "1", *choice])
        said = capsys.readouterr().out
        (line,) = (line for line in said.splitlines() if line.startswith("results go"))
        written = Path(line.removeprefix("results go to "))
        assert written.parent == temporary
        assert list(written.glob("*.md"))
    assert contents(folder) == before
    monkeypatch.setattr("validation.verification.FOLDER", tmp_path)
    assert main(["verify", "--jobs", "1", "--update"]) == 3
    assert "2 claims" in (tmp_path / "README.md").read_text()
    found = contents(tmp_path)
    assert tmp_path / "report" / "report.md" in found
    # What is there of the same sources is not run again.
    monkeypatch.setattr(runner, "run_script", None)
    assert main(["verify", "--jobs", "1", "--update"]) == 3
    assert contents(tmp_path) == found


def test_commands_that_cannot_be_are_refused(out, tmp_path, monkeypatch, capsys):
    for words, said in (
        (["--only", "nothing"], "cases/sound, cases/wrong"),
        (["--jobs", "0"], "must be 1 or more"),
        (["--update", "--quick"], "--update"),
        (["--update", "--out", str(tmp_path)], "--update"),
    ):
        assert main(["verify", *words]) == 2
        assert said in capsys.readouterr().err
    # Without a checkout.
    monkeypatch.setitem(sys.modules, "validation.verification", None)
    assert main(["verify", "--quick"]) == 2
    assert "in the root of a checkout" in capsys.readouterr().err
