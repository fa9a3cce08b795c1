// The page: which runs are shown, at what time, in what scale; controls, keys.

const factOf = (run, name) => run.facts.find(([key]) => key === name)?.[1];

class App {
  constructor() {
    Object.assign(this, { exhibits: [], views: [], charts: [], times: [0], index: 0, drawn: 0, read: new Map() });
    Object.assign(this, { isPlaying: false, isLog: false, camera: new Camera() });
    this.options = { neurons: true, contours: false, ground: false, atoms: true, paths: true, fit: false };
    this.sizes = new ResizeObserver(() => this.invalidate());
    this.sizes.observe(element("show"));
    this.listen();
  }

  get time() { return this.times[this.index]; }

  async start() {
    if (TOLD.runs.length > 2) this.gallery = new Gallery();
    window.addEventListener("hashchange", () => this.open());
    await this.open();
  }

  // Open what the address says: all runs, one, or two.
  async open() {
    const asked = /run=(\d+)(?:,(\d+))?/.exec(location.hash), areMany = TOLD.runs.length > 2;
    let wanted = (asked ?? []).slice(1).filter((text) => TOLD.runs[text]).map(Number);
    if (!wanted.length && !areMany) wanted = [...TOLD.runs.keys()];
    const isGallery = !wanted.length;
    this.pause();
    Object.assign(this, { exhibits: [], views: [], charts: [] });
    Plot.all.splice(0).forEach(({ u }) => u.destroy());
    element("back").hidden = !areMany || isGallery;
    element("gallery").hidden = !isGallery;
    element("bar").hidden = element("show").hidden = true;
    element("loading").hidden = isGallery;
    if (isGallery) {
      const equations = new Set(TOLD.runs.map((run) => factOf(run, "equation")));
      element("title").textContent = `${TOLD.runs.length} runs`;
      element("subtitle").textContent = equations.size === 1 ? [...equations][0] : "";
      return;
    }
    for (const index of wanted) if (!this.read.has(index)) this.read.set(index, await Exhibit.read(index));
    element("loading").hidden = true;
    this.show(wanted.map((index) => this.read.get(index)));
  }

  show(exhibits) {
    const hasGlobe = exhibits.some((e) => e.domain === "sphere"), section = element("show"), isOne = exhibits.length === 1;
    section.hidden = element("bar").hidden = false;
    section.className = `${isOne ? "one" : "two"} ${hasGlobe ? "with-globe" : "with-line"}`;
    element("title").textContent = exhibits.map((e) => e.name).join("  |  ");
    element("subtitle").textContent = isOne
      ? ["equation", "convention"].map((name) => factOf(exhibits[0], name)).filter(Boolean).join(" · ")
      : "side by side, at the same time";
    this.exhibits = exhibits;
    this.times = united(exhibits.flatMap((e) => e.times));
    this.firstTime = firstOfLogarithm(this.times);
    this.camera = Camera.towards(exhibits.find((e) => e.domain === "sphere")?.middle ?? [0, 0, 0]);
    this.home = { ...this.camera };
    element("exhibits").replaceChildren();
    this.views = exhibits.map((exhibit, i) => this.viewOf(exhibit, i));
    this.charts = makeCharts(element("charts"), exhibits, this);
    element("facts").replaceChildren(...exhibits.map(factsOf));
    this.offer(exhibits, hasGlobe);
    element("time").max = this.times.length - 1;
    this.go(0);
  }

  viewOf(exhibit, i) {
    const { mark: dot, name, state, div: box } = copyOf("exhibit", element("exhibits")), isOne = this.exhibits.length === 1;
    dot.hidden = name.hidden = isOne;
    dot.style.background = RUNS[i];
    name.textContent = exhibit.name;
    const view = exhibit.domain === "sphere" ? new GlobeView(box, exhibit, this) : new LineView(box, exhibit, this);
    return Object.assign(view, { state });
  }

  // Show the controls of what there is; colours are logarithmic where a density exceeds 50 times its mean.
  offer(exhibits, hasGlobe) {
    const lands = exhibits.flatMap((e) => e.landscapes), hasField = hasGlobe && lands.some((l) => l.field);
    const hasPaths = exhibits.some((e) => e.track?.paths.length);
    const has = { neurons: lands.some((l) => l.neurons.length), contours: hasField, ground: hasField, paths: hasPaths };
    has.atoms = hasPaths || exhibits.some(({ frames: { atoms } }) => !atoms.areParticles && atoms.counts.some(Boolean));
    for (const label of document.querySelectorAll("#layers label")) label.hidden = !has[label.dataset.for];
    element("layers").hidden = !Object.values(has).some(Boolean);
    element("scale").hidden = !exhibits.some((e) => e.frames.density);
    this.setLog(exhibits.some(({ frames: { highs, means } }) => highs.some((high, k) => high > 50 * means[k] && means[k] > 0)));
  }

  // The scale of colours, the same for all that is shown; nearly uniform densities are seen from the lowest on.
  scaleAt(states) {
    const { fit } = this.options, shown = this.exhibits.flatMap(({ frames: { lows, highs, means } }, i) => (
      highs.map((high, k) => ({ k, high, low: lows[k], mean: means[k] })).filter(({ k }) => !fit || k === states[i])));
    const high = Math.max(...shown.map((s) => s.high)), mean = Math.max(...shown.map((s) => s.mean)), low = Math.min(...shown.map((s) => s.low));
    if (!(high > 0)) return new Scale(0, 1);
    if (this.isLog) return new Scale(Math.max(1e-9 * high, Math.min(1e-4 * high, 1e-2 * mean)), high, true);
    const start = !fit && low > 0.1 * high ? low : 0;
    return high - start > 1e-6 * high ? new Scale(start, high) : new Scale(0.9 * high, 1.1 * high);
  }

  draw() {
    this.isAsked = false;
    const states = this.exhibits.map((e) => e.stateAt(this.time)), scale = this.scaleAt(states);
    this.views.forEach((view, i) => {
      const { times, track } = this.exhibits[i], k = states[i], words = [`t = ${short(times[k], 6)}`];
      view.draw(k, scale);
      if (Number.isInteger(track?.counts[k])) words.push(countWords(track.counts[k], track.forming[k]));
      if (track?.verdicts[k]) words.push(`verdict: ${track.verdicts[k]}`);
      view.state.textContent = words.join(" · ");
    });
    for (const chart of this.charts) chart.draw();
    this.drawn++;
  }

  invalidate() {
    if (this.isAsked || !this.exhibits.length) return;
    this.isAsked = true;
    requestAnimationFrame(() => this.draw());
  }

  go(index) {
    this.index = clamp(index, 0, this.times.length - 1);
    const slider = element("time"), text = `t = ${short(this.time, 6)}`;
    slider.value = this.index;
    slider.setAttribute("aria-valuetext", text);
    element("when").textContent = `${text} (${this.index + 1} of ${this.times.length})`;
    this.invalidate();
  }

  // An axis of times, the place of a time on it, and a line at the present one.
  timeAxis(label) { return { label, scale: { distr: this.firstTime > 0 ? 3 : 1 } }; }
  onAxis(time) { return Math.max(time, this.firstTime); }
  drawNow(pen, { x, top, bottom }, time = this.time) {
    const at = x(this.onAxis(time));
    polyline(pen, [[at, top - 4], [at, bottom]], INK, 1.2, true);
  }

  goToTime(time) { this.go(nearestOf(this.times, time)); }

  step(by) { this.pause(); this.go(this.index + by); }

  play() {
    if (this.index === this.times.length - 1) this.go(0);
    this.setPlaying(true);
    let before = performance.now(), due = 0;
    const step = (now) => {
      if (!this.isPlaying) return;
      due += ((now - before) / 1000) * Number(element("speed").value);
      before = now;
      if (due >= 1) this.go(this.index + Math.floor(due));
      due %= 1;
      if (this.index === this.times.length - 1) this.pause(); else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  pause() { this.setPlaying(false); }

  setPlaying(isPlaying) {
    const button = element("play");
    this.isPlaying = isPlaying;
    button.textContent = isPlaying ? "❚❚" : "▶";
    button.setAttribute("aria-pressed", String(isPlaying));
    button.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
  }

  setLog(isLog) {
    this.isLog = isLog;
    for (const radio of document.querySelectorAll("[name=scale]")) radio.checked = (radio.value === "log") === isLog;
    this.invalidate();
  }

  turn(right, up) { this.camera.turn(right, up); this.invalidate(); }

  // Nearer or farther; with a factor of 0 the view as at first.
  zoom(factor) {
    if (!factor) Object.assign(this.camera, this.home);
    this.camera.zoom = clamp(this.camera.zoom * factor, 1, 12);
    this.invalidate();
  }

  listen() {
    element("time").addEventListener("input", ({ target }) => { this.pause(); this.go(Number(target.value)); });
    element("play").addEventListener("click", () => (this.isPlaying ? this.pause() : this.play()));
    for (const radio of document.querySelectorAll("[name=scale]")) radio.addEventListener("change", () => this.setLog(radio.value === "log"));
    for (const name of Object.keys(this.options)) element(name).addEventListener("change", ({ target }) => { this.options[name] = target.checked; this.invalidate(); });
    element("back").addEventListener("click", () => { location.hash = ""; });
    element("help").addEventListener("click", () => element("keys").showModal());
    window.addEventListener("keydown", (event) => this.press(event));
  }

  // Keys move in time and turn the globe; others press the control that names them (data-key).
  press(event) {
    const { key, target, shiftKey } = event, letter = key === " " ? "space" : key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey || element("keys").open) return;
    // Controls keep the keys that they use themselves.
    const isControl = ["BUTTON", "SUMMARY", "INPUT", "A"].includes(target.tagName) && target.id !== "time";
    if (target.tagName === "SELECT" || (key === " " && isControl)) return;
    if (key.startsWith("Arrow") && target.type === "radio") return;
    const control = document.querySelector(`[data-key="${CSS.escape(letter)}"]:not(:checked[type=radio])`);
    const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    const zooms = { "+": 1.2, "=": 1.2, "-": 1 / 1.2, r: 0 };
    if (control && !control.closest("[hidden]")) control.click();
    else if (!this.exhibits.length) return;
    else if (shiftKey && turns[key]) this.turn(...turns[key]);
    else if (steps[key]) this.step(steps[key]);
    else if (letter in zooms) this.zoom(zooms[letter]);
    else return;
    event.preventDefault();
  }
}

const nearestOf = (times, time) => times.reduce((best, t, i) => (Math.abs(t - time) < Math.abs(times[best] - time) ? i : best), 0);

// Sorted times without those that are the same.
function united(times) {
  const all = times.sort((a, b) => a - b), slack = 1e-9 * Math.max(1, Math.abs(all[all.length - 1] ?? 0));
  return all.filter((t, i) => i === 0 || t - all[i - 1] > slack);
}

function factsOf(exhibit) {
  const list = node("dl"), rows = [["run", exhibit.name], ...Object.entries(exhibit.parameters), ...exhibit.facts];
  for (const [key, value] of [...rows, ...exhibit.notes.map((note) => ["shown", note])]) list.append(node("dt", "", key), node("dd", "", value));
  return list;
}

const app = new App();
window.mfpde = app;
app.start().catch((error) => {
  const told = element("loading");
  told.hidden = false; told.className = "problem";
  told.textContent = `This page could not be shown: ${error.message}`;
  throw error;
});
