"""The package computes what was stored: changes of structure change rounding alone."""

from __future__ import annotations

import warnings

import pytest
from oracles.record import GROUPS, differences, read_oracles

ORACLES = read_oracles()
CASES = [
    pytest.param(group, case, id=f"{group}: {case.name}")
    for group, (cases, *_) in GROUPS.items()
    for case in cases
]


@pytest.mark.parametrize(("group", "case"), CASES)
def test_numbers_are_those_stored(group, case):
    with warnings.catch_warnings():
        # Coarse grids and long steps are noted; here they are what is wanted.
        warnings.simplefilter("ignore")
        computed = case.compute(0.0)
    assert differences(ORACLES[group, case.name], computed) == []


def test_every_case_is_stored_and_every_stored_case_is_computed():
    assert set(ORACLES) == {
        (group, case.name) for group, (cases, *_) in GROUPS.items() for case in cases
    }


def test_a_changed_number_is_noticed():
    (group, name), quantities = next(iter(ORACLES.items()))
    changed = {
        key: oracle.value * (1 + 1e-9)
        if oracle.value.dtype.kind in "fc"
        else oracle.value
        for key, oracle in quantities.items()
    }
    assert differences(quantities, changed), (group, name)
