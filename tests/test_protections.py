"""Each protection has a test that fails without it."""

import ast
from pathlib import Path

import protections
import pytest
from protections import PROTECTIONS, ROOT

QUICK = [one for one in PROTECTIONS if one.is_quick]
OTHERS = [one for one in PROTECTIONS if not one.is_quick]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """Return a copy of the package on which the tests of all quick protections pass."""
    with protections.copied() as root:
        assert protections.sound_tests_pass(QUICK, root)
        yield root


@pytest.mark.parametrize("protection", QUICK, ids=lambda one: one.name)
def test_without_it_its_test_fails(protection, sound) -> None:
    assert protections.is_noticed(protection, sound)


@pytest.mark.slow
@pytest.mark.parametrize("protection", OTHERS, ids=lambda one: one.name)
def test_without_any_of_the_others_its_test_fails(protection, sound) -> None:
    # Sound tests have passed in this run of pytest, or it has failed.
    assert protections.is_noticed(protection, sound)


@pytest.mark.parametrize("protection", PROTECTIONS, ids=lambda one: one.name)
def test_the_table_is_of_this_package(protection) -> None:
    """Its sources are there, and its tests."""
    assert protections.without(protection, ROOT)
    file, _, name = protection.test.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert name.partition("[")[0] in functions
