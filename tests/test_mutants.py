"""Faults in the source, of which `make mutants` says whether tests notice them."""

import ast

import mutants
import pytest
from cuts import ROOT, TESTS, draw_mutants, read_table

TABLE = read_table()


@pytest.mark.parametrize("mutant", TABLE, ids=lambda one: one.name)
def test_the_table_is_of_this_package(mutant) -> None:
    """What is to be changed is there once, and its tests are there."""
    assert mutant.source(ROOT) != (ROOT / "mfpde" / mutant.file).read_text("utf-8")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        tree = ast.parse((TESTS / file).read_text("utf-8"))
        functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert not name or name.partition("[")[0] in functions


def test_cuts_are_drawn_from_all_folders_and_change_the_code() -> None:
    drawn = draw_mutants(60, seed=1)
    folders = {path.name for path in (ROOT / "mfpde").iterdir() if path.is_dir()}
    assert {one.file.split("/")[0] for one in drawn} >= folders - {"__pycache__"}
    for one in drawn:
        assert ast.dump(ast.parse(one.source(ROOT))) != ast.dump(ast.parse(one.old))


def test_a_fault_is_noticed_by_its_test_and_the_copy_restored(tmp_path) -> None:
    (pickle,) = (one for one in TABLE if one.name == "matrix files: no pickle")
    root = mutants.copy_package(tmp_path)
    sound = (root / "mfpde" / pickle.file).read_bytes()
    assert not mutants.find_failing(pickle.tests, root)
    assert mutants.find_noticing(pickle, root) == pickle.tests[0]
    assert (root / "mfpde" / pickle.file).read_bytes() == sound
    report = mutants.write_report([pickle, pickle], [True, False])
    assert "| terms | 2 | 1 | 0 | 0 |" in report
    assert "1 of 2 die" in report
