"""Options shared by all tests."""

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every run: a change is judged by its own failures.  New ones, and how
# to see a failure again: pytest -m hypothesis --hypothesis-profile=explore.
settings.register_profile("reproducible", derandomize=True)
settings.register_profile("explore", max_examples=1000, print_blob=True, deadline=None)
settings.load_profile("reproducible")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--run-slow", action="store_true", help="run the tests marked slow too"
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260121)
