"""The page of runs in a browser: what it shows, and what it does when it is asked to.

Headless Chromium draws it in software; ``make test-all`` brings one where apt-get can.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import PAIR, runs_of_all_kinds

import mfpde

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

    def opened_page(*runs: mfpde.Run, names: Any = None, **options: Any) -> Driven:
        path = mfpde.view(*runs, path=tmp_path / "page.html", names=names)
        pages.append(Driven(browser, path, **options))
        return pages[-1]

    yield opened_page
    for page in pages:
        page.closed()


def pointed(driven: Driven, selector: str, x: float, y: float) -> str:
    """Words beside the pointer at a place on a canvas, given as shares of its sides."""
    canvas = driven.page.locator(selector).first
    box = canvas.bounding_box()
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": x * box["width"], "y": y * box["height"]})
    shown = [o for o in driven.page.locator("output.readout").all() if o.is_visible()]
    return shown[0].inner_text() if shown else ""


def number_after(name: str, words: str) -> float:
    found = re.search(rf"{name} = ([−\d.]+)(?:·10(\S+))?", words)
    value = float(found.group(1).replace("−", "-"))
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    return value * 10.0 ** int((found.group(2) or "0").translate(raised))


def test_values_stand_beside_the_pointer(drive, runs) -> None:
    run = runs["circle"]
    driven = drive(run)
    page = driven.page
    driven.until("mfpde.drawn > 0")
    page.keyboard.press("End")
    driven.picture(".curve")
    density = run.final.density
    words = pointed(driven, ".curve .u-over", 0.5, 0.3)
    angle = number_after("θ", words) * np.pi
    near, angles = angle + np.array([-0.01, 0.0, 0.01]), density.geometry.angles
    values = np.interp(near, angles, density.values, period=2 * np.pi)
    slack = np.ptp(values) + 1e-3 * values.max()
    assert abs(number_after("ρ", words) - values[1]) <= slack
    height = float(PAIR.value(np.array([[np.cos(angle), np.sin(angle)]]))[0])
    assert number_after("V", words) == pytest.approx(height, abs=0.02)


def wanted_values(name: str, state: Any) -> np.ndarray:
    """Return the density that a page should hold of a state."""
    if name == "particles":
        angles = np.mod(np.arctan2(*state.points.T[::-1]), 2 * np.pi)
        bins, _ = np.histogram(angles, 128, (0, 2 * np.pi), None, state.masses)
        return bins / (2 * np.pi / 128)
    density = state.density
    if name == "zonal":
        return density.masses / density.geometry.spacing
    return density.values.ravel()


def test_numbers_come_back_and_runs_are_cards_of_which_two_have_one_slider(
    drive, runs
) -> None:
    driven = drive(*runs.values(), names=list(runs))
    page = driven.page
    driven.until("document.querySelectorAll('.card').length === 4")
    assert page.locator("#bar").is_hidden()
    for index, (name, run) in enumerate(runs.items()):
        page.locator(".card a").nth(index).click()
        driven.until(f"mfpde.exhibits[0]?.name === '{name}' && mfpde.drawn > 0")
        assert page.locator(".globe").count() == (name == "sphere")
        for k, state in enumerate(run.states):
            held = f"[...mfpde.exhibits[0].densityAt({k}).values]"
            found, wanted = page.evaluate(held), wanted_values(name, state)
            slack = ERROR * wanted + 2e-12 * np.max(wanted) * len(run.states)
            assert np.all(abs(found - wanted) <= slack)
        page.keyboard.press("Escape")
        driven.until("mfpde.exhibits.length === 0")
    page.evaluate("location.hash = '#run=0,3'")
    driven.until("mfpde.exhibits.length === 2 && mfpde.views.length === 2")
    page.evaluate("mfpde.goToTime(1.0)")
    driven.picture(".curve")
    states = page.locator(".exhibit .state").all_inner_texts()
    assert [text.split()[:3] for text in states] == 2 * [["t", "=", "1"]]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_slider_keys_and_play(drive, runs) -> None:
    driven = drive(runs["circle"])
    page = driven.page
    driven.until("mfpde.drawn > 0")
    first = driven.picture(".curve")
    page.locator("#time").fill("6")
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
        assert page.locator("#when").inner_text() == time_told
    page.locator("#speed").select_option("60")
    page.locator("#speed").blur()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    driven.until("mfpde.index === 12 && !mfpde.isPlaying")


def test_the_globe_turns_by_mouse_and_keys_and_tells_the_density(drive, runs) -> None:
    density = runs["sphere"].states[0].density
    driven = drive(runs["sphere"])
    page = driven.page
    first = driven.picture(".globe")
    words = pointed(driven, ".over", 0.4, 0.5)
    theta, phi = (number_after(name, words) * np.pi for name in "θφ")
    x = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    points = density.geometry.points.reshape(-1, 3)
    nearest = density.values.ravel()[(points @ x).argmax()]
    assert number_after("ρ", words) == pytest.approx(nearest, rel=0.2)
    assert pointed(driven, ".over", 0.01, 0.99) == ""
    camera = "[mfpde.camera.longitude, mfpde.camera.latitude]"
    before, box = page.evaluate(camera), page.locator(".globe .over").bounding_box()
    at = [
        box[c] + s * box[side]
        for c, s, side in (("x", 0.4, "width"), ("y", 0.5, "height"))
    ]
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 80, at[1] + 40, steps=4)
    page.mouse.up()
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
