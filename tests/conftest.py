"""Options shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

import mfpde

# The same examples on every run: a change is judged by its own failures.  New ones, and how
# to see a failure again: pytest -m hypothesis --hypothesis-profile=explore.
settings.register_profile("reproducible", derandomize=True)
settings.register_profile(
    "explore",
    max_examples=1000,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reproducible")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--run-slow", action="store_true", help="run the tests marked slow too"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Drop compiled kernels that are older than any module with kernels.

    numba compiles a kernel anew when its own module has changed, not when that of a kernel
    that it calls has.
    """
    if hasattr(config, "workerinput"):
        return
    # Of its workers, and of processes that tests start: threads of several wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    package = Path(mfpde.__file__).parent
    sources = [
        path
        for path in package.rglob("*.py")
        if "mfpde.compiled" in path.read_text("utf-8")
    ]
    newest = max(path.stat().st_mtime for path in sources)
    for kernel in package.rglob("*.nb[ic]"):
        if kernel.stat().st_mtime < newest:
            kernel.unlink(missing_ok=True)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if not settings.default.derandomize:
        _explore_as_much_as_the_profile_says(items)
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def _explore_as_much_as_the_profile_says(items: list[pytest.Item]) -> None:
    """Take back the fewer examples that tests ask for, so that a usual round is short."""
    wanted = settings.default.max_examples
    for item in items:
        test = getattr(item, "obj", None)
        if is_hypothesis_test(test):
            # Where hypothesis keeps them: a test cannot be decorated with settings twice.
            own = test._hypothesis_internal_use_settings
            more = settings(own, max_examples=max(wanted, own.max_examples))
            test._hypothesis_internal_use_settings = more


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260121)
