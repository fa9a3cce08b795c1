"""Each figure in README and docs is one that a test holds (their code: test_documents.py)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from documents import pages
from equations import ascent
from random_points import atoms_alone, atoms_at
from scipy.optimize import brentq

import mfpde
from mfpde.settings import read_settings
from mfpde.transport import SMOOTH, State, scheme_for
from validation.references.two_atoms import merge_time

ROOT = Path(__file__).parent.parent
README = "\n\n".join(page.read_text(encoding="utf-8") for page in pages())
PROSE = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
SENTENCES = " ".join(PROSE.split())
PAPER = "examples/paper_circle_descent.toml"


# A phrase of the README; the test that holds it, and how it stands there.
QUOTED = [
    ("to 3e-8 in L1", "test_exact_circle", "errors[-1] <= 3e-8"),
    ("r₀ = 0.3, t = 3", "test_exact_circle", "r0 = 0.3, t = 3, ascent"),
    ("0.7 % early at most at 512", "test_exact_circle", "(512, 0.007)"),
    ("and 0.35 % at 1024", "test_exact_circle", "(1024, 0.0035)"),
    ("distance 1.2", "test_sphere_transport", "ANGLE = 1.2"),
    ("within 0.0115 of", "test_sphere_transport", "(exact, abs=0.0115)"),
    ("order 1.9 at least", "test_sphere_transport", "(64, 128), 1e-4, 1e-4, 1.9)"),
    ("stability is lost (to 1e-8", "test_continuation", "abs=1e-8"),
    ("Tests ask for 1e-12", "test_minimize", "found.gap <= 1e-12"),
    ("is 2.5e-3 at 1024 cells and 1.3e-3 at 2048", "test_readme", "(2.5e-3, 1.3e-3)"),
]
# Numbers that are settings or names, or held below.
NAMED = (
    *("3.12", "3.13", "3.13.", "1e-4", "1e-5", "1e-6", "1e-7"),
    *("3.11", "0.1.0", "2601.21366", "2605.09213"),
)


@pytest.mark.parametrize(("phrase", "module", "condition"), QUOTED)
def test_what_is_quoted_is_what_a_test_holds(phrase, module, condition) -> None:
    assert phrase in SENTENCES
    source = (ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8")
    assert condition in source


COMPARED = (
    "from a quarter of the package's time",
    "to more than four times it",
    "made positive after each step, it never arrives on S² at t = 5",
    "Seven targets are missed",
)
TABLE = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))


def test_the_comparison_with_spectral_code_is_that_of_the_table() -> None:
    rows = {
        re.sub(r", [\d.]+:", ":", row["what"]): row
        for row in TABLE
        if row["part"].startswith("Beside")
    }
    # None stands for what the other never reached, 0 for what the package did not.
    ratios = {
        name: np.inf if row["value"] is None else row["value"]
        for name, row in rows.items()
    }
    signed = [value for name, value in ratios.items() if name.endswith(": signed")]
    late = [v for n, v in ratios.items() if re.match(r"S2.*t = 5: positive", n)]
    assert all(told in SENTENCES for told in COMPARED)
    assert min(v for v in signed if v > 0) == pytest.approx(1 / 4, rel=0.1)
    assert 4 < max(signed) < 5
    assert late == [np.inf] * 3
    assert [row["verdict"] for row in rows.values()].count("missed") == 7


def test_the_orders_of_the_transport_suite_are_those_of_the_table() -> None:
    hills = {
        row["what"].split(":")[0]: row["value"] / row["target"]
        for row in TABLE
        if "Gaussian hills: order" in row["what"]
    }
    assert "reach a third of the order that they aim at for smooth hills" in SENTENCES
    assert hills["donor_blended"] == pytest.approx(1 / 3, abs=0.05)
    assert "labels more than half of it" in SENTENCES
    assert 0.5 < hills["labels at T/2"] < 0.7


def test_no_other_figure_is_quoted() -> None:
    text = re.sub(r"^    .*$", "", PROSE, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "", text)
    # Statements and equations of the paper, and its formulas, stand in a table of their own.
    text = re.sub(
        r"^# Formula to code.*?^# ", "# ", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"^---\n.*?^---\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(
        r"(Theorems?|Remark|Proposition|Lemma|Corollary) [\d.]+( to [\d.]+)?", "", text
    )
    text = " ".join(re.sub(r"\*\*0\.1\.0\*\*", "", text).split())
    for phrase, *_ in QUOTED:
        text = text.replace(re.sub(r"`[^`]*`", "", phrase), "")
    numbers = re.findall(r"\d[\d.]*e-?\d+|\d+\.\d[\d.]*|\d[\d.]*(?= ?%)", text)
    assert [number for number in numbers if number not in NAMED] == []


def negative_part(relative: np.ndarray) -> float:
    """Weight of what is below zero, of values over the mean on the sphere of 32 rings."""
    masses = relative * mfpde.Sphere(32).areas / (4 * np.pi)
    return -float(np.minimum(masses, 0.0).sum())


def test_defaults_and_limits_are_those_of_the_code() -> None:
    assert "less than 1e-7 of the mass" in SENTENCES
    circle = mfpde.Circle(256)
    equation = ascent(4.0)
    for mass in (0.9e-7, 1.1e-7):
        density = mfpde.Density(circle, mass * mfpde.uniform(circle).values)
        start = mfpde.Measure(density, mfpde.Atoms([[1.0, 0.0]], [1 - mass]))
        run = mfpde.solve(equation, start, t_end=1e-3, save_at=[1e-3], atoms="exact")
        assert (run.final.density.total_mass == 0) == (mass < 1e-7)
    assert "would have below zero weighs 1e-5" in SENTENCES
    sphere = mfpde.Sphere(32)
    transport = scheme_for("spectral_labels", sphere).transport(equation.on(sphere))
    legendre = (3 * sphere.points[..., 2] ** 2 - 1) / 2
    for weight in (0.9e-5, 1.1e-5):
        size = brentq(lambda c, w=weight: negative_part(1 + c * legendre) - w, 2, 3)
        values = (1 + size * legendre) / (4 * np.pi)
        state = State(values * sphere.areas, np.empty((0, 3)), np.empty(0))
        assert (transport.begin(state).phase == SMOOTH) == (weight < 1e-5)
    assert "from about 100 √β cells around a circle" in SENTENCES
    start = mfpde.uniform(mfpde.Circle(199))
    with pytest.warns(UserWarning, match="use at least 200 cells"):
        mfpde.solve(equation, start, t_end=1e-3, save_at=[1e-3], atoms="exact")
    assert "from d = 193 on" in SENTENCES
    totals = [mfpde.Zonal(dimension, 400).areas.sum() for dimension in (192, 193)]
    assert totals[0] < 1e-90
    assert totals[1] == pytest.approx(1.0)


@pytest.mark.slow
def test_the_error_of_a_long_run_behind_a_kink_is_of_first_order() -> None:
    """The paper's run on the circle at t = 50, where trajectories have parted."""
    equation = read_settings(ROOT / PAPER).single_equation()
    particles = mfpde.solve_particles(
        equation,
        mfpde.quantized(mfpde.uniform(mfpde.Circle(1024)), 16000),
        t_end=50.0,
        save_at=[50.0],
        rtol=1e-4,
        atol=1e-6,
    )
    errors = []
    for num_cells in (1024, 2048):
        start = mfpde.uniform(mfpde.Circle(num_cells))
        run = mfpde.solve(equation, start, t_end=50.0, save_at=[50.0])
        errors.append(mfpde.wasserstein(run.final, particles.final))
    # 2.2e-3 and 1.1e-3 measured; of these the particles' own pi / (2 n) is 1e-4.
    assert (np.array(errors) <= (2.5e-3, 1.3e-3)).all()
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)


def merge_of_two(beta, angles, cells, t_end) -> float:
    """Time at which two exact atoms merge, of masses 0.3 and 0.7."""
    start = atoms_alone(mfpde.Circle(cells), atoms_at(angles, [0.3, 0.7]))
    equation = ascent(beta)
    run = mfpde.solve(equation, start, t_end=t_end, save_at=[t_end], atoms="exact")
    (merge,) = run.events
    assert merge.kind == "merge"
    return merge.time


def test_two_atoms_at_beta_25_merge_after_ten_to_the_thirteenth() -> None:
    told = "two atoms that need until t = 10¹³ at β = 25 merge at the exact time"
    assert told in SENTENCES
    exact = merge_time(25.0, start_angle=1.9, end_angle=1e-3)
    assert exact > 1e13
    # 2e-8 measured.
    found = merge_of_two(25.0, [1.0, 2.9], 512, 1.1 * exact)
    assert found == pytest.approx(exact, rel=1e-6)


def test_a_merge_is_a_distance_that_is_told() -> None:
    """Two atoms never meet; from a cell's width on they come closer like e^(-Mt)."""
    assert "a **merge** is a distance of 1e-6 rad" in SENTENCES
    assert "from one cell h to the merge it takes log(h/1e-6)/M" in SENTENCES
    assert "distance of 1e-6 rad" in " ".join(str(mfpde.Run.__doc__).split())
    found = merge_of_two(7.3, [1.0, 2.1], 1024, 50.0)
    cell = 2 * np.pi / 1024
    to_cell, exact = (
        mfpde.theory.merge_time(7.3, start_angle=1.1, end_angle=end)
        for end in (cell, 1e-6)
    )
    assert found == pytest.approx(exact, rel=1e-4)
    assert found - to_cell == pytest.approx(np.log(cell / 1e-6), rel=1e-3)
