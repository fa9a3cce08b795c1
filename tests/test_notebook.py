"""Results at a prompt and in a notebook: a line, a table, a picture."""

import html

import numpy as np
import pytest

import mfpde

CIRCLE = mfpde.Circle(64)
NEURON = mfpde.Perceptron([[1.0, 0.0]], [-0.5])
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(3.0), NEURON, direction="descent")


@pytest.fixture(scope="module")
def run() -> mfpde.Run:
    return mfpde.solve(
        EQUATION,
        mfpde.uniform(CIRCLE),
        t_end=1.0,
        save_every=0.1,
        track=mfpde.Concentration(),
    )


@pytest.fixture(scope="module")
def results(run):
    minimum = mfpde.minimize(EQUATION, CIRCLE)
    return [
        run,
        run.track,
        mfpde.concentration(run.final, EQUATION),
        minimum,
        minimum.certificate,
        mfpde.polish(EQUATION, minimum.measure),
    ]


def test_a_prompt_shows_one_line(results, run) -> None:
    for shown in (*results, run.final, run.final.density, mfpde.Atoms(np.eye(2))):
        text = repr(shown)
        assert "\n" not in text
        assert len(text) < 400, text
        assert type(shown).__name__ in text


def test_a_notebook_shows_what_print_does(results) -> None:
    for shown in results:
        assert shown._repr_html_() == f"<pre>{html.escape(str(shown))}</pre>"


def test_signs_of_less_and_greater_are_no_tags(run) -> None:
    assert run._repr_html_().count("<") == 2


def test_pictures_show_themselves_whatever_the_backend(run) -> None:
    for figure in (
        mfpde.plot_run(run),
        mfpde.plot_density(run.final).get_figure(),
        mfpde.plot_snapshots(run),
    ):
        assert figure._repr_png_().startswith(b"\x89PNG")
