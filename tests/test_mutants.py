"""Faults in the source, of which `make mutants` says whether tests notice them."""

import ast

import mutants
import pytest
from mutants import ROOT, TESTS, cuts_of, draw_mutants, read_table

TABLE = read_table()


@pytest.mark.parametrize("mutant", TABLE, ids=lambda one: one.name)
def test_the_table_is_of_this_package(mutant) -> None:
    """What is to be changed is there once, and its tests are there."""
    assert mutant.source(ROOT) != (ROOT / "mfpde" / mutant.file).read_text("utf-8")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        tree = ast.parse((TESTS / file).read_text("utf-8"))
        functions = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        assert not name or name.partition("[")[0] in functions


def test_cuts_are_drawn_from_all_folders_and_change_the_code() -> None:
    drawn = draw_mutants(60, seed=1)
    folders = {path.name for path in (ROOT / "mfpde").iterdir() if path.is_dir()}
    assert {one.file.split("/")[0] for one in drawn} >= folders - {"__pycache__"}
    for one in drawn:
        assert ast.dump(ast.parse(one.source(ROOT))) != ast.dump(ast.parse(one.old))


def test_texts_and_limits_of_sizes_are_not_cut(tmp_path, monkeypatch) -> None:
    (tmp_path / "mfpde").mkdir()
    (tmp_path / "mfpde" / "some.py").write_text(
        'MOST_CELLS = 3.0 * 7.0\n\ndef __repr__(self):\n    return "a" + "b"\n\n'
        'def f(x: "int" = -1):\n    if x < 0:\n        raise ValueError(-x)\n'
        "    return -x * np.min(x)\n"
    )
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    cuts = list(cuts_of("some.py"))
    assert [one.name for one in cuts] == [
        "some.py:7: x < 0 to x <= 0",
        "some.py:9: -x * np.min(x) to -x / np.min(x)",
        "some.py:9: -x to x",
        "some.py:9: np.min to np.max",
    ]
    assert "    return -x * (np.max)(x)\n" in cuts[-1].source(tmp_path)


def test_a_fault_is_noticed_by_its_test_and_the_copy_restored(tmp_path) -> None:
    (pickle,) = (one for one in TABLE if one.name == "matrix files: no pickle")
    root = mutants.copy_package(tmp_path)
    sound = (root / "mfpde" / pickle.file).read_bytes()
    assert mutants.run_tests(pickle.tests, root) == 0
    assert mutants.is_noticed(pickle, root)
    assert (root / "mfpde" / pickle.file).read_bytes() == sound
