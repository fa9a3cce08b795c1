"""The references that runs are judged against are right themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import validation.references
from validation.references import two_atoms

SOLVER = ("mfpde.solve", "mfpde.transport", "mfpde.time_loop", "mfpde.time_stepping")


def test_no_reference_imports_the_density_solver() -> None:
    for path in Path(validation.references.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                parts = name.split(".")
                assert not any(
                    parts[: len(banned)] == banned
                    for banned in (module.split(".") for module in SOLVER)
                ), f"{path.name} imports {name}"


# --- two atoms ----------------------------------------------------------------------


@given(
    beta=st.floats(0.1, 200.0),
    mass=st.floats(0.1, 3.0),
    angles=st.tuples(st.floats(0.2, 3.0), st.floats(0.05, 0.95)),
)
def test_the_merge_time_is_the_integral_of_the_slowness(
    beta: float, mass: float, angles: tuple[float, float]
) -> None:
    start, end = angles[0], angles[0] * angles[1]
    exact = quad(
        lambda x: np.exp(2 * beta * np.sin(x / 2) ** 2) / (mass * np.sin(x)),
        end,
        start,
        epsabs=0,
        epsrel=1e-12,
        limit=300,
    )[0]
    time = two_atoms.merge_time(beta, mass, start_angle=start, end_angle=end)
    assert time == pytest.approx(exact, rel=1e-10)


@given(beta=st.floats(0.1, 50.0), share=st.floats(0.01, 0.99))
def test_softmax_merge_times(beta: float, share: float) -> None:
    """Equal masses follow the closed form, and any others merge sooner."""
    angles = (1.5, 0.2)
    closed = two_atoms.merge_time(beta, start_angle=1.5, end_angle=0.2, softmax=True)
    equal = two_atoms.merge_time_by_quadrature(beta, (0.5, 0.5), angles=angles)
    assert equal == pytest.approx(closed, rel=1e-10)
    other = two_atoms.merge_time_by_quadrature(beta, (share, 1 - share), angles=angles)
    assert other <= closed * (1 + 1e-10)


def test_two_atoms_integrated_take_the_same_time() -> None:
    assert max(two_atoms.main(quick=True).values()) < 1e-10


@pytest.mark.parametrize(
    ("name", "bad"),
    [("beta", 0.0), ("mass", -1.0), ("start_angle", np.pi), ("end_angle", 0.0)],
)
def test_a_bad_merge_time_names_its_argument(name: str, bad: float) -> None:
    arguments = {"beta": 5.0, "mass": 1.0, "start_angle": 1.0, "end_angle": 0.5}
    with pytest.raises(ValueError, match=name):
        two_atoms.merge_time(**{**arguments, name: bad})
