"""Results at a prompt and in a notebook: a line, a table, a picture."""

import base64
import dataclasses
import html
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mfpde
from mfpde.notebook import Shown

CIRCLE = mfpde.Circle(64)
NEURON = mfpde.Perceptron([[1.0, 0.0]], [-0.5])
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(3.0), NEURON, direction="descent")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def run() -> mfpde.Run:
    times = {"t_end": 1.0, "save_every": 0.1, "track": mfpde.Concentration()}
    return mfpde.solve(EQUATION, mfpde.uniform(CIRCLE), **times)


@pytest.fixture(scope="module")
def results(run) -> dict[str, object]:
    """Results of all kinds: those of a table with a picture, and the rest."""
    minimum = mfpde.minimize(EQUATION, CIRCLE)
    sphere = mfpde.uniform(mfpde.Sphere(32))
    third = mfpde.Density(sphere.geometry, sphere.values / 3)
    scales = [1.0, 0.95]
    noisy = mfpde.MeanFieldEquation(*EQUATION.terms, direction="descent", diffusion=0.1)
    return {
        "run": run,
        "report": mfpde.concentration(run.final, EQUATION),
        "minimum": minimum,
        "measure": run.final,
        "density": run.final.density,
        "atoms": mfpde.Atoms(np.eye(3)),
        "on the sphere": sphere,
        "part of a measure": mfpde.Measure(third),
        "zonal": mfpde.uniform(mfpde.Zonal(5, 64)),
        "particles": mfpde.quantized(sphere, 100),
        "polished": mfpde.polish(EQUATION, minimum.measure),
        "branch": mfpde.continuation(EQUATION, minimum.atoms, "weight_scale", scales),
        "track": run.track,
        "certificate": minimum.certificate,
        "with noise": mfpde.stationary_density(noisy, mfpde.uniform(CIRCLE)),
    }


def pictures(page: str) -> list[Image.Image]:
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in found]


def test_results_have_a_table_a_small_picture_and_what_print_says(results) -> None:
    for name, shown in results.items():
        text = repr(shown)
        assert "\n" not in text
        assert len(text) < 400, text
        assert name == "branch" or type(shown).__name__ in text
        page = shown._repr_html_()
        assert len(page) < 60_000, name
        assert name in ("track", "certificate") or len(pictures(page)) == 1
        for picture in pictures(page):
            assert 150 < picture.width < 800
            assert len(np.unique(np.array(picture.convert("L")))) > 5
        facts = shown.facts if isinstance(shown, Shown) else {}
        for fact, value in facts.items():
            assert f">{html.escape(fact)}</th>" in page
            assert f">{html.escape(value)}</td>" in page
        if name in ("run", "report", "minimum", "polished", "track", "certificate"):
            assert f"<pre>{html.escape(str(shown))}</pre>" in page
    run, report = results["run"], results["report"]
    assert run.facts["energy"].startswith(f"{run.energies[0]:.9g}")
    assert report.facts["verdict"] == report.verdict
    assert mfpde.plot_snapshots(run)._repr_png_().startswith(b"\x89PNG")
    # What has no picture is a table.
    page = mfpde.Atoms(np.eye(5))._repr_html_()
    assert "5 on S^4" in page
    assert not pictures(page)
    empty = dataclasses.replace(run, times=np.empty(0), states=[], diagnostics={})
    with pytest.raises(ValueError, match="save_every"):
        empty.to_xarray()


def test_a_density_is_an_array(run) -> None:
    density = run.final.density
    assert np.array_equal(np.asarray(density), density.values)
    assert np.asarray(density, dtype=np.float32).dtype == np.float32
    copied = np.array(density)
    copied[:] = 0.0
    assert density.values.max() > 0
    assert np.isclose(np.sum(density * CIRCLE.areas), 1.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_first_notebook_runs_and_shows_pictures(monkeypatch) -> None:
    nbformat, nbclient = map(pytest.importorskip, ("nbformat", "nbclient"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    path = ROOT / "examples" / "notebooks" / "first_run.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "keep it without"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    pages = [
        output.data["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    assert sum(len(pictures(page)) for page in pages) >= 3
    assert any("t 20/20" in html.unescape(page) for page in pages), "progress"
