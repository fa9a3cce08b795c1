"""Faults in the source, of which `make mutants` says whether tests notice them."""

import ast

import cuts
import mutants
import pytest
from cuts import ROOT, TESTS, cuts_of, draw_mutants, read_table

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


def test_texts_and_limits_of_sizes_are_not_cut(tmp_path, monkeypatch) -> None:
    (tmp_path / "mfpde").mkdir()
    (tmp_path / "mfpde" / "some.py").write_text(
        'MOST_CELLS = 3.0 * 7.0\n\ndef __repr__(self):\n    return "a" + "b"\n\n'
        'def f(x: "int" = -1):\n    if x < 0:\n        raise ValueError(-x)\n'
        "    return -x * np.min(x)\n"
    )
    monkeypatch.setattr(cuts, "ROOT", tmp_path)
    found = list(cuts_of("some.py"))
    assert [one.name for one in found] == [
        "f: x < 0 to x >= 0",
        "f: x < 0 to x <= 0",
        "f: -x * np.min(x) to -x / np.min(x)",
        "f: -x to x",
        "f: np.min to np.max",
    ]
    assert "    return -x * (np.max)(x)\n" in found[-1].source(tmp_path)


@pytest.mark.parametrize(
    ("file", "is_in", "is_not"),
    [
        ("transport/line.py", "transport/sphere_fluxes.py", "geometry/circle.py"),
        ("runge_kutta.py", "transport/departure_points.py", "geometry/remap.py"),
        ("geometry/circle.py", "detection/balls.py", "geometry/harmonics.py"),
    ],
)
def test_kernels_of_what_uses_a_module_are_compiled_anew(file, is_in, is_not) -> None:
    built = mutants.files_built_with(file)
    assert file in built
    assert is_in in built
    assert is_not not in built


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
