"""The page of runs: what it holds, and what it does in a browser."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mfpde
from benchmarks.chromium import CHROMIUM, launched
from mfpde.commands.command_line import main
from mfpde.measures.measure import as_measure
from mfpde.viewer.exhibit import Exhibit, exhibit_of
from mfpde.viewer.grids import grid_view
from mfpde.viewer.packed import LogarithmicScale, Stream, Unpacked, unpacked

NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])
DESCENT = mfpde.MeanFieldEquation(mfpde.Attention(5.0), NEURONS, direction="descent")
ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
ROOM = 7_000_000
MOST_BYTES = 20_000_000


def circle_run(beta: float = 5.0) -> mfpde.Run:
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta), NEURONS, direction="descent"
    )
    return mfpde.solve(
        equation,
        mfpde.uniform(mfpde.Circle(128)),
        t_end=6.0,
        save_every=0.5,
        track=mfpde.Concentration(),
    )


def run_of_states(states: list[Any], equation: Any = None) -> mfpde.Run:
    """A run that holds these states at the times 0, 1, ..."""
    times = np.arange(float(len(states)))
    masses = np.array([state.total_mass for state in states])
    return mfpde.Run(
        equation=equation,
        times=times,
        states=states,
        diagnostics={"mass": masses, "energy": np.exp(-times / 30)},
        stop=mfpde.runs.stopping.StopReason("time", "the end was reached"),
        final=states[-1],
        final_time=float(times[-1]),
    )


def sphere_run(nlat: int = 32, saves: int = 4) -> mfpde.Run:
    """Two bumps on the sphere that come closer and narrower."""
    sphere = mfpde.Sphere(nlat)
    neurons = mfpde.Perceptron([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [1.0, -0.7])
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(3.0), neurons, direction="descent"
    )
    states = []
    for share in np.linspace(0.0, 1.0, saves):
        x = np.cos(0.9 - 0.5 * share)
        centre = np.array([x, 0.0, np.sqrt(1 - x * x)])

        def bump(points: np.ndarray, c: np.ndarray = centre, s: float = share) -> Any:
            return 0.05 + np.exp((4 + 30 * s) * (points @ c - 1))

        states.append(mfpde.Density.from_function(sphere, bump))
    return run_of_states(states, equation)


@pytest.fixture(scope="module")
def runs() -> dict[str, mfpde.Run]:
    particles = mfpde.solve_particles(
        DESCENT,
        mfpde.quantized(mfpde.uniform(mfpde.Circle(128)), 50),
        t_end=2.0,
        save_at=[0.0, 1.0, 2.0],
    )
    zonal = mfpde.solve(
        ASCENT,
        mfpde.perturbed_uniform(mfpde.Zonal(6, 64), 0.5),
        t_end=1.0,
        save_every=0.5,
    )
    return {
        "circle": circle_run(),
        "sphere": sphere_run(),
        "zonal": zonal,
        "particles": particles,
    }


def opened(run: mfpde.Run, *, room: int = ROOM) -> tuple[Exhibit, Unpacked]:
    exhibit = exhibit_of(run, "run", room=room)
    return exhibit, unpacked(exhibit.text)


# What the page holds --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["circle", "sphere", "zonal"])
def test_densities_come_back_to_the_error_that_the_page_tells(runs, name) -> None:
    run = runs[name]
    _, held = opened(run)
    frames = held.description["frames"]
    scale = LogarithmicScale(frames["low"], frames["high"])
    values = scale.values(held.codes(frames["density"]))
    note = next(note for note in held.description["notes"] if "16-bit" in note)
    told = float(re.search(r"right to (\S+) of itself", note).group(1))
    assert told < 5e-4
    at = 0
    for state, mass in zip(run.states, frames["masses"], strict=True):
        density = as_measure(state).density
        view = grid_view(density.geometry)
        wanted = view.values(density).ravel()
        found = values[at : at + view.cells]
        at += view.cells
        is_kept = wanted >= scale.low
        # The error is told to two digits.
        assert np.all(
            abs(found - wanted)[is_kept] <= 1.05 * told * wanted[is_kept] + 1e-300
        )
        assert np.all(found[~is_kept] <= scale.low * (1 + told))
        assert found @ view.weights.ravel() == pytest.approx(mass, rel=told)
        assert mass == pytest.approx(density.total_mass, rel=1e-14)
    assert at == len(values)


def test_codes_keep_nothing_and_the_ends() -> None:
    values = np.array([0.0, 1e-20, 1e-9, 0.5, 2.0])
    scale = LogarithmicScale.of([values])
    codes = scale.codes(values)
    assert codes.tolist()[:2] == [0, 0]
    assert codes[2] == 1
    assert codes[-1] == 65535
    assert (
        LogarithmicScale.of([np.full(4, 0.3)]).codes(np.full(4, 0.3)).tolist()
        == [1] * 4
    )
    stream = Stream()
    places = [stream.add_floats(values), stream.add_codes(codes)]
    held = unpacked(stream.text({"places": places}))
    assert held.codes(places[1]).tolist() == codes.tolist()
    np.testing.assert_allclose(held.floats(places[0]), values, rtol=1e-7)


def test_blocks_keep_the_mass_and_the_page_says_that_it_is_coarse(runs) -> None:
    run = runs["sphere"]
    fine = sphere_run(nlat=64)
    _, held = opened(fine, room=4 * 2048)
    frames = held.description["frames"]
    (grid,) = frames["grids"]
    assert (grid["rows"], grid["columns"]) == (32, 64)
    assert any("Coarsened for display" in note for note in held.description["notes"])
    view = grid_view(fine.final.geometry).coarsened()
    scale = LogarithmicScale(frames["low"], frames["high"])
    last = scale.values(held.codes(frames["density"]))[-view.cells :]
    mass = last @ view.weights.ravel()
    assert mass == pytest.approx(1.0, rel=scale.relative_error)
    _, whole = opened(run)
    assert not any("Coarsened" in note for note in whole.description["notes"])


def test_saves_are_left_out_evenly_and_said() -> None:
    circle = mfpde.Circle(256)
    run = run_of_states([mfpde.uniform(circle)] * 300)
    _, held = opened(run, room=120 * 256)
    saves = held.description["frames"]["saves"]
    assert (saves[0], saves[-1], len(saves)) == (0, 299, 120)
    assert max(np.diff(saves)) <= 3
    assert any("120 of the 300 saves" in note for note in held.description["notes"])
    # Curves are of all saves.
    assert len(held.description["diagnostics"]["times"]) == 300


def test_particles_and_paths_are_kept(runs) -> None:
    _, held = opened(runs["particles"])
    atoms = held.description["frames"]["atoms"]
    angles = held.floats(atoms["places"])[-50:]
    points = runs["particles"].states[-1].points
    np.testing.assert_allclose(np.cos(angles), points[:, 0], atol=1e-6)
    run = runs["circle"]
    _, held = opened(run)
    track = held.description["track"]
    assert len(track["paths"]) == len(run.track.paths) > 0
    assert [len(seen) for seen in track["seen"]] == [len(a) for a in run.track.seen]
    assert track["counts"] == run.track.counts.tolist()
    assert track["verdicts"] == list(run.track.verdicts)


def test_atoms_that_are_forming_are_told_apart(runs) -> None:
    run = runs["circle"]
    exhibit, held = opened(run)
    track = held.description["track"]
    told = list(zip(track["counts"], track["forming"], strict=True))
    for state, (count, forming) in zip(run.states, told, strict=True):
        report = mfpde.concentration(state, run.equation)
        assert count - forming == len(report.atoms)
        assert forming == len(report.forming)
    assert (exhibit.card["atoms"], exhibit.card["forming"]) == told[-1]
    assert any(forming for _, forming in told)


def test_densities_of_a_circle_are_per_radian(runs) -> None:
    _, held = opened(runs["circle"])
    assert held.description["diagnostics"]["curves"]["minimum"]["unit"] == "1/radian"
    _, held = opened(runs["zonal"])
    assert held.description["diagnostics"]["curves"]["minimum"]["unit"] == "1/area"


def test_the_landscape_is_that_of_the_layer(runs) -> None:
    run = runs["circle"]
    _, held = opened(run)
    (land,) = held.description["landscapes"]
    assert [n["w"] for n in land["neurons"]] == [0.8, -0.5]
    values = held.floats(land["field"]["values"])
    angles = np.linspace(0, 2 * np.pi, len(values))
    wanted = NEURONS.value(np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    np.testing.assert_allclose(values, wanted, atol=1e-6)
    network = mfpde.Layers([(ASCENT, 0.5), (DESCENT, 0.5)])
    layered = mfpde.solve(network, mfpde.uniform(mfpde.Circle(64)), save_every=0.25)
    _, held = opened(layered)
    (land,) = held.description["landscapes"]
    assert (land["from"], land["to"]) == (0.5, 1.0)


def test_a_page_loads_nothing_and_is_the_same_again(runs, tmp_path) -> None:
    page = mfpde.view(*runs.values(), path=tmp_path / "a" / "page.html")
    text = page.read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", text)
    assert not re.search(r"https?://|@import|url\(|XMLHttpRequest|\bfetch\(", text)
    assert "<!--" not in text.split("<!DOCTYPE html>")[1].split('id="numbers-0"')[0]
    again = mfpde.view(*runs.values(), path=tmp_path / "again.html")
    assert again.read_text("utf-8") == text


def test_the_size_has_a_bound(tmp_path, rng) -> None:
    """Noise, which deflates least, on 128 x 256 cells at 100 times, of two runs."""
    sphere = mfpde.Sphere(128)
    states = [
        mfpde.Density(sphere, np.exp(4 * rng.standard_normal(sphere.shape)))
        for _ in range(20)
    ]
    run = run_of_states(states * 5)
    page = mfpde.view(run, run, path=tmp_path / "noise.html")
    assert page.stat().st_size < MOST_BYTES
    _, held = opened(run, room=ROOM // 2)
    assert held.description["frames"]["grids"][0]["rows"] == 128
    assert len(held.description["frames"]["saves"]) == 100


def test_names_cannot_leave_their_place(runs, tmp_path) -> None:
    name = "</script><script>alert(1)</script>"
    page = mfpde.view(runs["zonal"], path=tmp_path / "x.html", names=[name])
    assert "<script>alert" not in page.read_text("utf-8")


def test_wrong_arguments_are_named(runs, tmp_path) -> None:
    run = runs["zonal"]
    with pytest.raises(ValueError, match=r"names = .* for each of the 1 runs"):
        mfpde.view(run, path=tmp_path / "x.html", names=["a", "b"])
    with pytest.raises(ValueError, match="is a folder"):
        mfpde.view(run, path=tmp_path)
    with pytest.raises(ValueError, match="run 2 = 3 must be a Run"):
        mfpde.view(run, 3, path=tmp_path / "x.html")  # type: ignore[arg-type]
    nothing = replace(run, states=[], times=np.empty(0))
    with pytest.raises(ValueError, match=r"run\.states is empty"):
        mfpde.view(nothing, path=tmp_path / "x.html")
    far = run_of_states([mfpde.Atoms(np.eye(5))])
    with pytest.raises(ValueError, match="no picture for atoms on S"):
        mfpde.view(far, path=tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_stores_and_folders(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "run.toml"
    config.write_text(
        '[geometry]\nkind = "circle"\ncells = 64\n[attention]\nbeta = 2.0\n'
        '[equation]\ndirection = "ascent"\n[start]\nkind = "perturbed_uniform"\n'
        "[solve]\nt_end = 0.4\nsave_every = 0.2\n"
    )
    for beta in (2, 3, 4):
        out = f"sweep/b{beta}.zarr"
        chosen = ["--set", f"attention.beta={beta}", "--out", out, "--quiet"]
        assert main(["run", str(config), *chosen]) == 0
    assert main(["view", "sweep/b2.zarr"]) == 0
    assert (tmp_path / "sweep" / "b2.html").is_file()
    (tmp_path / "sweep" / "broken.zarr").mkdir()
    (tmp_path / "sweep" / "broken.zarr" / "zarr.json").write_text("{")
    assert main(["view", "sweep"]) == 0
    assert "left out: sweep/broken.zarr" in capsys.readouterr().err
    text = (tmp_path / "sweep" / "view.html").read_text("utf-8")
    told = json.loads(re.search(r'id="runs">(.*?)</script>', text, re.S).group(1))
    parameters = [run["parameters"] for run in told["runs"]]
    assert parameters == [{"attention.beta": beta} for beta in (2.0, 3.0, 4.0)]
    assert main(["view", "nothing.zarr"]) == 2
    assert "nothing.zarr" in capsys.readouterr().err


# What the page does ---------------------------------------------------------------------------

PATIENCE = 20.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed (make chromium)")
    driver = pytest.importorskip("playwright.sync_api")
    with driver.sync_playwright() as playwright:
        found = launched(playwright)
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
        # Pictures of exports are blobs of the page's own.
        far = [u for u in self.asked if not u.startswith(("file:", "blob:", "data:"))]
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


def shown_time(driven: Driven) -> str:
    return driven.page.locator("#when").inner_text()


def test_slider_keys_and_play(drive, runs) -> None:
    driven = drive(runs["circle"])
    driven.until("mfpde.drawn > 0")
    page = driven.page
    assert shown_time(driven) == "t = 0 (1 of 13)"
    first = driven.picture(".curve")
    page.locator("#time").fill("6")
    assert shown_time(driven) == "t = 3 (7 of 13)"
    assert driven.picture(".curve") != first
    assert page.locator("#time").get_attribute("aria-valuetext") == "t = 3"
    page.locator("#time").focus()
    for key, told in (
        ("ArrowRight", "t = 3.5 (8 of 13)"),
        ("ArrowLeft", "t = 3 (7 of 13)"),
        ("End", "t = 6 (13 of 13)"),
        ("Home", "t = 0 (1 of 13)"),
        ("PageDown", "t = 5 (11 of 13)"),
    ):
        page.keyboard.press(key)
        assert shown_time(driven) == told
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


def test_a_click_on_a_chart_goes_to_that_time(drive, runs) -> None:
    driven = drive(runs["circle"])
    driven.until("mfpde.drawn > 0")
    chart = driven.page.locator(".chart canvas").first
    width = chart.bounding_box()["width"]
    chart.click(position={"x": 58 + 0.5 * (width - 68), "y": 40})
    assert shown_time(driven) == "t = 3 (7 of 13)"


def test_the_globe_turns_by_mouse_and_keys(drive, runs) -> None:
    driven = drive(runs["sphere"])
    driven.until("mfpde.drawn > 0")
    page = driven.page
    first = driven.picture(".globe")
    box = page.locator(".globe .over").bounding_box()
    x, y = box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"]
    before = page.evaluate("[mfpde.camera.longitude, mfpde.camera.latitude]")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 80, y + 40, steps=4)
    page.mouse.up()
    after = page.evaluate("[mfpde.camera.longitude, mfpde.camera.latitude]")
    # What is dragged follows the pointer: to the right is to the west.
    assert after[0] < before[0] - 0.1
    assert after[1] > before[1] + 0.05
    turned = driven.picture(".globe")
    assert turned != first
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("mfpde.camera.longitude") == pytest.approx(after[0] + 0.1)
    page.keyboard.press("r")
    assert driven.picture(".globe") == first


def test_the_globe_turns_by_touch(drive, runs) -> None:
    driven = drive(
        runs["sphere"], viewport={"width": 390, "height": 844}, has_touch=True
    )
    driven.until("mfpde.drawn > 0")
    before = driven.page.evaluate("mfpde.camera.longitude")
    box = driven.page.locator(".globe .over").bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
    client = driven.page.context.new_cdp_session(driven.page)
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]),
        ("touchMove", [{"x": x - 30, "y": y}]),
        ("touchMove", [{"x": x - 60, "y": y}]),
        ("touchEnd", []),
    ):
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    driven.until(f"mfpde.camera.longitude > {before} + 0.1")
    # Nothing is wider than a phone.
    assert driven.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_globe_shows_the_density_in_the_colours_of_the_figures(drive, runs) -> None:
    """The pixel in the middle is that of the cell that is looked at."""
    driven = drive(runs["sphere"])
    driven.until("mfpde.drawn > 0")
    page = driven.page
    for box in ("#neurons", "#atoms"):
        if page.locator(box).is_visible():
            page.locator(box).uncheck()
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
          const ratio = view.ground.width / view.ground.clientWidth;
          const { x, y } = view.layout(view.ground.clientWidth, view.ground.clientHeight)[0];
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


def test_log_switch_and_what_is_drawn_over_the_globe(drive, runs) -> None:
    driven = drive(runs["sphere"], viewport={"width": 800, "height": 500})
    driven.until("mfpde.drawn > 0")
    page = driven.page
    driven.page.evaluate("mfpde.go(3)")
    before = driven.picture(".globe")
    was_log = page.evaluate("mfpde.isLog")
    page.keyboard.press("l")
    assert page.evaluate("mfpde.isLog") != was_log
    assert page.locator("input[value=log]").is_checked() != was_log
    assert driven.picture(".globe") != before
    page.locator("input[value=log]" if was_log else "input[value=linear]").check()
    assert driven.picture(".globe") == before
    for key in "ncvf":
        driven.page.keyboard.press(key)
        changed = driven.picture(".globe")
        driven.page.keyboard.press(key)
        # The last state has the highest density: fitted colours start elsewhere at most.
        assert changed != before or key == "f"
        assert driven.picture(".globe") == before


def test_two_runs_have_one_slider(drive, runs) -> None:
    driven = drive(runs["circle"], circle_run(beta=10.0))
    driven.until("mfpde.drawn > 0")
    page = driven.page
    assert page.locator(".exhibit").count() == 2
    page.evaluate("mfpde.goToTime(3.0)")
    driven.picture(".curve")
    told = page.locator(".exhibit .state").all_inner_texts()
    assert all(text.startswith("t = 3 ") for text in told)
    assert page.locator(".chart").first.locator("canvas").get_attribute("aria-label")
    left, right = (
        page.locator(".exhibit .curve").nth(k).bounding_box() for k in (0, 1)
    )
    assert left["x"] + left["width"] <= right["x"]
    assert left["y"] == right["y"]


def test_export_is_a_picture_of_all(drive, runs, tmp_path) -> None:
    driven = drive(runs["sphere"])
    driven.until("mfpde.drawn > 0")
    with driven.page.expect_download() as waited:
        driven.page.locator("#export").click()
    saved = tmp_path / waited.value.suggested_filename
    waited.value.save_as(saved)
    assert saved.name == "run_1_t_0.png"
    from PIL import Image

    with Image.open(saved) as picture:
        assert picture.width >= 2000
        # The globe is in it: WebGL keeps no pixels after a frame unless asked in time.
        colours = picture.convert("RGB").resize((64, 40)).getcolors(64 * 40)
    assert len(colours) > 100


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
    driven.until("mfpde.drawn > 0")
    driven.page.keyboard.press("End")
    driven.until("mfpde.index === 12")
    driven.picture(".curve")
    density = as_measure(run.final).density
    for selector, place in ((".curve", (0.5, 0.3)), (".ring", (0.2, 0.3))):
        words = pointed(driven, selector, *place)
        angle = number_after("θ", words) * np.pi
        values = np.interp(
            angle + np.array([-0.01, 0.0, 0.01]),
            density.geometry.angles,
            density.values,
            period=2 * np.pi,
        )
        slack = np.ptp(values) + 1e-3 * values.max()
        assert abs(number_after("ρ", words) - values[1]) <= slack
        point = np.array([[np.cos(angle), np.sin(angle)]])
        assert number_after("V", words) == pytest.approx(
            float(NEURONS.value(point)[0]), abs=0.02
        )
    words = pointed(driven, ".map", 0.1, 0.5)
    assert number_after("t", words) == 0.0
    assert number_after("ρ", words) == pytest.approx(1 / (2 * np.pi), rel=1e-3)
    words = pointed(driven, ".chart canvas", 0.5, 0.5)
    time = number_after("t", words)
    energy = run.energies[np.abs(run.times - time).argmin()]
    assert float(words.split(" · ")[-1].replace("−", "-")) == pytest.approx(
        energy, rel=1e-5
    )
    assert "atom" in pointed(driven, ".tree canvas", 0.7, 0.8)
    driven.page.mouse.move(2, 2)
    assert driven.page.locator("output.readout:visible").count() == 0


def test_a_globe_tells_the_density_at_the_pointer(drive, runs) -> None:
    run = runs["sphere"]
    driven = drive(run)
    driven.until("mfpde.drawn > 0")
    density = as_measure(run.states[0]).density
    words = pointed(driven, ".over", 0.4, 0.5)
    theta, phi = (number_after(name, words) * np.pi for name in "θφ")
    x = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    nearest = (density.geometry.points.reshape(-1, 3) @ x).argmax()
    assert number_after("ρ", words) == pytest.approx(
        density.values.ravel()[nearest], rel=0.2
    )
    assert pointed(driven, ".over", 0.01, 0.99) == ""


def test_the_map_of_a_circle_has_a_bar_of_colours(drive, runs) -> None:
    driven = drive(runs["circle"])
    driven.until("mfpde.drawn > 0")
    driven.picture(".map")
    colours = driven.page.evaluate(
        """() => {
          const { map, mapBox: box } = mfpde.views[0], ratio = map.width / map.clientWidth;
          const at = (y) => [...map.getContext("2d").getImageData(
            ratio * (box.left + box.width + 16), ratio * y, 1, 1).data].slice(0, 3);
          return [at(box.top + 3), at(box.top + box.height - 4)];
        }"""
    )
    high, low = np.array(colours)
    assert low.sum() > 600 > 300 > high.sum()


def test_the_head_tells_what_is_forming_and_rounding_has_no_chart(drive, runs) -> None:
    run = runs["circle"]
    report = mfpde.concentration(run.states[6], run.equation)
    driven = drive(run)
    driven.page.locator("#time").fill("6")
    driven.picture(".curve")
    told = driven.page.locator(".state").first.inner_text()
    n, forming = len(report.atoms), len(report.forming)
    words = f"{n} atom{'s' * (n != 1)}" + (f", {forming} forming" if forming else "")
    assert f" · {words} · verdict: {report.verdict}" in told
    heads = driven.page.locator(".chart h3").all_inner_texts()
    assert not any("Mass" in head for head in heads)
    drift = run.diagnostics["mass"] + 1e-9 * run.times
    lossy = replace(run, diagnostics={**run.diagnostics, "mass": drift})
    heads = drive(lossy).page.locator(".chart h3").all_inner_texts()
    assert [head for head in heads if "Atoms" not in head][-1].startswith("Mass")


def test_many_runs_are_cards_that_open(drive, runs) -> None:
    driven = drive(*runs.values())
    page = driven.page
    driven.until("document.querySelectorAll('.card').length === 4")
    assert page.locator("#bar").is_hidden()
    page.locator(".card a").nth(1).click()
    driven.until("mfpde.drawn > 0 && mfpde.exhibits.length === 1")
    assert page.locator(".globe").count() == 1
    page.keyboard.press("Escape")
    driven.until("mfpde.exhibits.length === 0")
    for k in (0, 3):
        page.locator(".card input").nth(k).check()
    page.get_by_role("button", name="Compare two").click()
    driven.until("mfpde.exhibits.length === 2 && mfpde.views.length === 2")
    assert page.locator(".ring").count() == 2
    page.locator("#back").click()
    driven.until("mfpde.exhibits.length === 0")
    assert page.locator(".card").first.is_visible()
