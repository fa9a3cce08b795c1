"""The page of runs in a browser: what it shows, and what it does when it is asked to.

Headless Chromium draws it in software; ``make test-all`` brings one where apt-get can.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from viewed import NEURONS, ROOM, runs_of_all_kinds, sphere_run

import mfpde
from mfpde.measures.measure import as_measure
from mfpde.viewer.exhibit import exhibit_of
from mfpde.viewer.writing import page_of

pytestmark = pytest.mark.slow
ERROR = 2.0**-11
"""Relative error of the page's 16-bit numbers."""
OPTIONS = (
    *("--no-sandbox", "--no-first-run", "--use-gl=angle", "--use-angle=swiftshader"),
    *("--enable-unsafe-swiftshader", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
BROWSERS = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
CHROMIUM = next(filter(None, BROWSERS), None)
PATIENCE = 20.0


@pytest.fixture(scope="module")
def runs() -> dict[str, mfpde.Run]:
    return runs_of_all_kinds()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed (make chromium)")
    driver = pytest.importorskip("playwright.sync_api")
    with driver.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        yield found
        found.close()


class Driven:
    """A page in a browser; it must say nothing on the console and ask for nothing."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        viewport = {"width": 1280, "height": 800}
        self.page = browser.new_page(**{"viewport": viewport, **options})
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.until("!!window.mfpde")

    def until(self, condition: str) -> None:
        """Wait for a condition; the page's security policy forbids playwright's own way."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"never: {condition}; {self.said}"
            time.sleep(0.02)

    def picture(self, selector: str) -> bytes:
        """Return a canvas's pixels once it has been drawn anew."""
        drawn = self.page.evaluate("mfpde.drawn")
        self.page.evaluate("mfpde.invalidate()")
        self.until(f"mfpde.drawn > {drawn}")
        return self.page.locator(selector).first.screenshot()

    def closed(self) -> None:
        assert self.said == []
        far = [u for u in self.asked if not u.startswith(("file:", "data:"))]
        assert far == []
        self.page.close()


@pytest.fixture
def drive(browser, tmp_path) -> Iterator[Any]:
    pages = []

    def opened_page(*runs: mfpde.Run, **options: Any) -> Driven:
        path = mfpde.view(*runs, path=tmp_path / "page.html")
        pages.append(Driven(browser, path, **options))
        return pages[-1]

    yield opened_page
    for page in pages:
        page.closed()


def until_drawn(driven: Driven) -> Any:
    driven.until("mfpde.drawn > 0")
    return driven.page


def shown_time(driven: Driven) -> str:
    return driven.page.locator("#when").inner_text()


def values_at(page: Any, k: int) -> np.ndarray:
    """Density that the page holds of a state, as it was unpacked."""
    return np.array(page.evaluate(f"[...mfpde.exhibits[0].densityAt({k}).values]"))


def test_numbers_come_back_to_the_error_that_the_page_tells(
    browser, runs, tmp_path
) -> None:
    fine = sphere_run(nlat=64)
    exhibits = [exhibit_of(run, name, room=ROOM) for name, run in runs.items()]
    exhibits.append(exhibit_of(fine, "coarse", room=4 * 2048))
    path = tmp_path / "page.html"
    path.write_text(page_of(exhibits), "utf-8")
    driven = Driven(browser, path)
    page = driven.page
    notes = []
    for index, (name, run) in enumerate([*runs.items(), ("coarse", fine)]):
        page.evaluate(f"location.hash = '#run={index}'")
        driven.until(f"mfpde.exhibits[0]?.name === '{name}'")
        notes.append(page.locator("#facts").text_content())
        for k, state in enumerate(run.states):
            found = values_at(page, k)
            if name == "particles":
                angles = np.mod(np.arctan2(*state.points.T[::-1]), 2 * np.pi)
                bins, _ = np.histogram(angles, 128, (0, 2 * np.pi), None, state.masses)
                wanted = bins / (2 * np.pi / 128)
                places = page.evaluate(
                    f"mfpde.exhibits[0].atomsAt({k}).map((atom) => atom.place[0])"
                )
                np.testing.assert_allclose(
                    np.cos(places), state.points[:, 0], atol=1e-6
                )
            else:
                density = as_measure(state).density
                wanted = density.values
                if name == "zonal":
                    wanted = density.masses / density.geometry.spacing
                if name == "coarse":
                    blocks = [
                        cells.reshape(32, 2, 64, 2).sum(axis=(1, 3))
                        for cells in (density.masses, density.geometry.areas)
                    ]
                    wanted = blocks[0] / blocks[1]
            slack = ERROR * wanted.ravel() + 2e-12 * np.max(wanted) * len(run.states)
            assert np.all(abs(found - wanted.ravel()) <= slack)
    assert "each is right to 5e-04" in notes[0]
    assert ["Coarsened for display" in note for note in notes] == 4 * [False] + [True]
    page.evaluate("location.hash = '#run=0'")
    driven.until("mfpde.exhibits[0]?.name === 'circle'")
    values = page.evaluate("[...mfpde.exhibits[0].landscapes[0].field.values]")
    angles = np.linspace(0, 2 * np.pi, len(values))
    wanted = NEURONS.value(np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    np.testing.assert_allclose(values, wanted, rtol=2 * ERROR, atol=1e-9)
    driven.closed()


def test_slider_keys_and_play(drive, runs) -> None:
    driven = drive(runs["circle"])
    page = until_drawn(driven)
    assert shown_time(driven) == "t = 0 (1 of 13)"
    first = driven.picture(".curve")
    page.locator("#time").fill("6")
    assert shown_time(driven) == "t = 3 (7 of 13)"
    assert driven.picture(".curve") != first
    assert page.locator("#time").get_attribute("aria-valuetext") == "t = 3"
    page.locator("#time").focus()
    for key, time_told in (
        ("ArrowRight", "t = 3.5 (8 of 13)"),
        ("ArrowLeft", "t = 3 (7 of 13)"),
        ("End", "t = 6 (13 of 13)"),
        ("Home", "t = 0 (1 of 13)"),
        ("PageDown", "t = 5 (11 of 13)"),
    ):
        page.keyboard.press(key)
        assert shown_time(driven) == time_told
    page.locator("#speed").select_option("60")
    page.locator("#speed").blur()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    driven.until("mfpde.index === 12 && !mfpde.isPlaying")
    assert page.locator("#play").get_attribute("aria-pressed") == "false"
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


def pointed(driven: Driven, selector: str, x: float, y: float) -> str:
    """Words beside the pointer at a place on a canvas, given as shares of its sides."""
    canvas = driven.page.locator(selector).first
    box = canvas.bounding_box()
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": x * box["width"], "y": y * box["height"]})
    shown = [o for o in driven.page.locator("output.readout").all() if o.is_visible()]
    return shown[0].inner_text() if shown else ""


def drag(
    page: Any, box: Any, start: tuple[float, float], by: tuple[float, float]
) -> None:
    """Drag by so many pixels, from a place given as shares of a box."""
    x, y = box["x"] + start[0] * box["width"], box["y"] + start[1] * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=4)
    page.mouse.up()


def number_after(name: str, words: str) -> float:
    found = re.search(rf"{name} = ([−\d.]+)(?:·10(\S+))?", words)
    value = float(found.group(1).replace("−", "-"))
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    return value * 10.0 ** int((found.group(2) or "0").translate(raised))


def test_values_stand_beside_the_pointer(drive, runs) -> None:
    run = runs["circle"]
    driven = drive(run)
    page = until_drawn(driven)
    page.keyboard.press("End")
    driven.picture(".curve")
    density = as_measure(run.final).density
    words = pointed(driven, ".curve .u-over", 0.5, 0.3)
    angle = number_after("θ", words) * np.pi
    near, angles = angle + np.array([-0.01, 0.0, 0.01]), density.geometry.angles
    values = np.interp(near, angles, density.values, period=2 * np.pi)
    slack = np.ptp(values) + 1e-3 * values.max()
    assert abs(number_after("ρ", words) - values[1]) <= slack
    height = float(NEURONS.value(np.array([[np.cos(angle), np.sin(angle)]]))[0])
    assert number_after("V", words) == pytest.approx(height, abs=0.02)
    words = pointed(driven, ".map .u-over", 0.01, 0.5)
    assert number_after("t", words) == 0.0
    assert number_after("ρ", words) == pytest.approx(1 / (2 * np.pi), rel=1e-3)
    words = pointed(driven, ".chart .u-over", 0.5, 0.5)
    energy = run.energies[np.abs(run.times - number_after("t", words)).argmin()]
    told = float(words.split(" · ")[-1].replace("−", "-"))
    assert told == pytest.approx(energy, rel=1e-5)
    page.locator(".chart", has_text="mass of atoms").locator(".u-over").hover()
    assert "atom 1: mass" in page.locator("output.readout:visible").inner_text()
    page.mouse.move(2, 2)
    assert page.locator("output.readout:visible").count() == 0


def test_charts_zoom_together_and_a_click_goes_to_its_time(drive, runs) -> None:
    driven = drive(runs["circle"])
    page = until_drawn(driven)
    driven.picture(".chart .plot")
    chart = page.locator(".chart .u-over").first
    ends = "[mfpde.charts[0], mfpde.charts[1], mfpde.views[0].map && {plot: mfpde.views[0].map}]"
    ranges = f"{ends}.map(({{ plot }}) => [plot.u.scales.x.min, plot.u.scales.x.max])"
    assert page.evaluate(ranges) == 3 * [[0, 6]]
    box = chart.bounding_box()
    chart.click(position={"x": 0.5 * box["width"], "y": 40})
    assert shown_time(driven) == "t = 3 (7 of 13)"
    drag(page, box, (0.25, 0.3), (0.5 * box["width"], 0))
    driven.until(f"{ranges}.every(([low, high]) => low > 1.4 && high < 4.6)")
    # To drag is not to click.
    assert shown_time(driven) == "t = 3 (7 of 13)"
    chart.dblclick()
    driven.until(f"{ranges}.every(([low, high]) => low === 0 && high === 6)")


def test_words_and_colours_are_those_of_the_pictures(drive, runs) -> None:
    run = runs["circle"]
    driven = drive(run)
    page = until_drawn(driven)
    page.locator("#time").fill("6")
    driven.picture(".curve")
    report = mfpde.concentration(run.states[6], run.equation)
    n, forming = len(report.atoms), len(report.forming)
    words = f"{n} atom{'s' * (n != 1)}" + (f", {forming} forming" if forming else "")
    state = page.locator(".state").first.inner_text()
    assert f" · {words} · verdict: {report.verdict}" in state
    label = page.locator(".curve canvas").get_attribute("aria-label")
    picture = mfpde.plot_density(as_measure(run.states[6]).density)
    assert label.startswith(picture.axes[0].get_ylabel())
    heads = page.locator(".chart h3").all_inner_texts()
    assert not any("mass − mass" in head for head in heads)
    drift = run.diagnostics["mass"] + 1e-9 * run.times
    lossy = replace(run, diagnostics={**run.diagnostics, "mass": drift})
    heads = drive(lossy).page.locator(".chart h3").all_inner_texts()
    assert any("mass − mass at the start" in head for head in heads)


def test_the_globe_turns_by_mouse_and_keys_and_tells_the_density(drive, runs) -> None:
    density = as_measure(runs["sphere"].states[0]).density
    driven = drive(runs["sphere"])
    page = until_drawn(driven)
    first = driven.picture(".globe")
    words = pointed(driven, ".over", 0.4, 0.5)
    theta, phi = (number_after(name, words) * np.pi for name in "θφ")
    x = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    nearest = density.values.ravel()[
        (density.geometry.points.reshape(-1, 3) @ x).argmax()
    ]
    assert number_after("ρ", words) == pytest.approx(nearest, rel=0.2)
    assert pointed(driven, ".over", 0.01, 0.99) == ""
    camera = "[mfpde.camera.longitude, mfpde.camera.latitude]"
    before = page.evaluate(camera)
    drag(page, page.locator(".globe .over").bounding_box(), (0.4, 0.5), (80, 40))
    after = page.evaluate(camera)
    # What is dragged follows the pointer: to the right is to the west.
    assert after[0] < before[0] - 0.1
    assert after[1] > before[1] + 0.05
    page.mouse.move(2, 2)
    assert driven.picture(".globe") != first
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("mfpde.camera.longitude") == pytest.approx(after[0] + 0.1)
    page.keyboard.press("r")
    assert driven.picture(".globe") == first


def test_the_globe_turns_by_touch(drive, runs) -> None:
    driven = drive(
        runs["sphere"], viewport={"width": 390, "height": 844}, has_touch=True
    )
    page = until_drawn(driven)
    before = page.evaluate("mfpde.camera.longitude")
    box = page.locator(".globe .over").bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
    client = page.context.new_cdp_session(page)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": place, "y": y, "id": k} for k, place in enumerate(places)]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", x)
    touch("touchMove", x - 30)
    touch("touchMove", x - 60)
    touch("touchEnd")
    driven.until(f"mfpde.camera.longitude > {before} + 0.1")
    # Two fingers that move apart come nearer, and do not turn.
    before = page.evaluate("mfpde.camera.longitude")
    touch("touchStart", x - 30)
    touch("touchStart", x - 30, x + 30)
    touch("touchMove", x - 45, x + 45)
    touch("touchMove", x - 60, x + 60)
    touch("touchEnd")
    driven.until("mfpde.camera.zoom > 1.5")
    assert page.evaluate("mfpde.camera.longitude") == before
    # Nothing is wider than a phone.
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_globe_shows_the_density_in_the_colours_of_the_figures(drive, runs) -> None:
    """The pixel in the middle is that of the cell that is looked at."""
    driven = drive(runs["sphere"], viewport={"width": 800, "height": 500})
    page = until_drawn(driven)
    page.keyboard.press("n")
    page.evaluate("mfpde.go(3)")
    density = runs["sphere"].final
    at = np.unravel_index(np.argmax(density.values), density.values.shape)
    theta = density.geometry.colatitudes[at[0]]
    phi = density.geometry.longitudes[at[1]]
    colour = page.evaluate(
        """([theta, phi]) => {
          const { camera } = mfpde, view = mfpde.views[0];
          camera.longitude = phi; camera.latitude = Math.PI / 2 - theta;
          mfpde.draw();
          const ratio = view.ground.width / view.ground.clientWidth, { x, y } = view.globes[0];
          const gl = view.globe.gl, pixel = new Uint8Array(4);
          gl.readPixels(Math.round(x * ratio), Math.round(view.ground.height - y * ratio),
                        1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
          return [...pixel];
        }""",
        [float(theta), float(phi)],
    )
    from matplotlib import colormaps

    darkest = np.array(colormaps["YlGnBu"](1.0)[:3]) * 255
    light = 0.82 + 0.18 * 0.7391
    # Half a pixel beside the middle a peak of a few cells is lower by a hundredth.
    np.testing.assert_allclose(colour[:3], light * darkest, atol=6)
    page.keyboard.press("n")
    before = driven.picture(".globe")
    was_log = page.evaluate("mfpde.isLog")
    page.keyboard.press("l")
    assert page.locator("input[value=log]").is_checked() != was_log
    assert driven.picture(".globe") != before
    page.locator("input[value=log]" if was_log else "input[value=linear]").check()
    page.locator("input[value=log]").blur()
    assert driven.picture(".globe") == before
    for key in "ncv":
        page.keyboard.press(key)
        assert driven.picture(".globe") != before
        page.keyboard.press(key)
        assert driven.picture(".globe") == before


def test_many_runs_are_cards_that_open_and_two_have_one_slider(drive, runs) -> None:
    driven = drive(*runs.values())
    page = driven.page
    driven.until("document.querySelectorAll('.card').length === 4")
    assert page.locator("#bar").is_hidden()
    page.locator(".card a").nth(1).click()
    driven.until("mfpde.drawn > 0 && mfpde.exhibits.length === 1")
    assert page.locator(".globe").count() == 1
    page.keyboard.press("Escape")
    driven.until("mfpde.exhibits.length === 0")
    page.evaluate("location.hash = '#run=0,3'")
    driven.until("mfpde.exhibits.length === 2 && mfpde.views.length === 2")
    page.evaluate("mfpde.goToTime(1.0)")
    driven.picture(".curve")
    states = page.locator(".exhibit .state").all_inner_texts()
    assert len(states) == 2
    assert all(re.match(r"t = 1\b", text) for text in states)
    curves = page.locator(".exhibit .curve")
    left, right = (curves.nth(k).bounding_box() for k in (0, 1))
    assert left["x"] + left["width"] <= right["x"]
    assert left["y"] == right["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.locator("#back").click()
    driven.until("mfpde.exhibits.length === 0")
    assert page.locator(".card").first.is_visible()
