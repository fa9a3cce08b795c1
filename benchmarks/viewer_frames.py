"""Frames a second of the viewer's globe at 128 x 256 cells, on a software renderer.

    python benchmarks/viewer_frames.py

It writes a page of 100 states of a sphere, opens it in headless Chromium with SwiftShader, at
1280 x 800, and draws all states one after the other, each to the end (a pixel is read back).
It needs playwright and a chromium (`make chromium`).
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from chromium import CHROMIUM, launched
from playwright.sync_api import Browser, sync_playwright

import mfpde
from mfpde.runs.stopping import StopReason

STATES = 100
TARGET = 20.0
DRAW_ALL = """async () => {
  const gl = mfpde.views[0].globe.gl, pixel = new Uint8Array(4), states = mfpde.times.length;
  const begin = performance.now();
  for (let k = 0; k < states; k++) {
    mfpde.go(k); mfpde.draw();
    gl.readPixels(400, 300, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  }
  return 1000 * states / (performance.now() - begin);
}"""
PLAY = """() => new Promise((done) => {
  mfpde.go(0);
  document.getElementById("speed").value = "60";
  const before = mfpde.drawn, begin = performance.now();
  mfpde.play();
  const look = () => {
    if (mfpde.isPlaying) { requestAnimationFrame(look); return; }
    done(1000 * (mfpde.drawn - before) / (performance.now() - begin));
  };
  look();
})"""


def states() -> mfpde.Run:
    """Two bumps that narrow and turn around the axis, with neurons: all that is drawn over."""
    sphere = mfpde.Sphere(128)
    perceptron = mfpde.Perceptron.random(3, 3, seed=111)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0), perceptron, direction="descent"
    )
    densities = []
    for share in np.linspace(0, 1, STATES):
        turn = 2 * share
        centre = np.array([0.8 * np.cos(turn), 0.8 * np.sin(turn), 0.6])

        def bumps(
            x: np.ndarray, c: np.ndarray = centre, s: float = share
        ) -> np.ndarray:
            sharp = 3 + 60 * s
            return 0.02 + np.exp(sharp * (x @ c - 1)) + np.exp(sharp * (-x @ c - 1))

        densities.append(mfpde.Density.from_function(sphere, bumps))
    times = np.arange(float(STATES))
    mass = np.array([density.total_mass for density in densities])
    return mfpde.Run(
        equation=equation,
        times=times,
        states=list(densities),
        diagnostics={"mass": mass, "energy": -times, "dissipation": np.exp(-times)},
        stop=StopReason("time", "all states are made"),
        final=densities[-1],
        final_time=float(times[-1]),
    )


def measured(browser: Browser, path: Path) -> None:
    """Print how long the page takes to open, and frames a second of two kinds."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    begin = time.perf_counter()
    page.goto(path.as_uri())
    while not page.evaluate("!!window.mfpde && mfpde.drawn > 0"):
        time.sleep(0.01)
    print(f"opened in {time.perf_counter() - begin:.2f} s")
    page.evaluate(DRAW_ALL)
    drawn = page.evaluate(DRAW_ALL)
    print(f"whole page, every state to the end: {drawn:.0f} frames/s (>= {TARGET:.0f})")
    print(f"played at 60/s:                     {page.evaluate(PLAY):.0f} frames/s")
    page.close()


def main() -> None:
    """Write the page, open it and measure."""
    if CHROMIUM is None:
        raise SystemExit("no chromium is installed: make chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = mfpde.view(states(), path=Path(folder) / "view.html")
        print(f"{STATES} states of 128 x 256 cells: {path.stat().st_size / 1e6:.1f} MB")
        browser = launched(playwright)
        measured(browser, path)
        browser.close()


if __name__ == "__main__":
    main()
