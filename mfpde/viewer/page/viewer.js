// The page: which runs are shown, at what time, in what scale; controls, keys, export.

const element = (id) => document.getElementById(id);

class App {
  constructor() {
    Object.assign(this, { exhibits: [], views: [], charts: [], times: [0], index: 0, isPlaying: false, camera: new Camera(), read: new Map() });
    this.options = { neurons: true, contours: false, ground: false, atoms: true, paths: true, fit: false };
    this.sharpness = 1;
    this.isLog = false;
    this.drawn = 0;
    this.listen();
  }

  get time() { return this.times[this.index]; }

  async start() {
    if (TOLD.runs.length > 2) this.gallery = new Gallery(element("gallery"), this);
    window.addEventListener("hashchange", () => this.open());
    await this.open();
  }

  // Open what the address says: all runs, one, or two.
  async open() {
    const asked = /run=(\d+)(?:,(\d+))?/.exec(location.hash);
    let wanted = asked ? asked.slice(1).filter(Boolean).map(Number).filter((i) => i < TOLD.runs.length) : [];
    if (!wanted.length && TOLD.runs.length <= 2) wanted = TOLD.runs.map((_, i) => i);
    this.pause();
    const isGallery = !wanted.length;
    element("back").hidden = TOLD.runs.length <= 2 || isGallery;
    element("bar").hidden = element("show").hidden = true;
    element("gallery").hidden = !isGallery;
    element("export").hidden = isGallery;
    element("loading").hidden = isGallery;
    if (isGallery) {
      this.exhibits = [];
      element("title").textContent = `${TOLD.runs.length} runs`;
      element("subtitle").textContent = common("equation");
      element("loading").hidden = true;
      return;
    }
    const exhibits = [];
    for (const index of wanted) {
      if (!this.read.has(index)) this.read.set(index, await Exhibit.read(index));
      exhibits.push(this.read.get(index));
    }
    element("loading").hidden = true;
    this.show(exhibits);
  }

  show(exhibits) {
    this.exhibits = exhibits;
    const hasGlobe = exhibits.some((e) => e.domain === "sphere");
    const section = element("show");
    section.hidden = element("bar").hidden = false;
    section.className = `${exhibits.length > 1 ? "two" : "one"} ${hasGlobe ? "with-globe" : "with-line"}`;
    element("title").textContent = exhibits.map((e) => e.name).join("  |  ");
    element("subtitle").textContent = exhibits.length > 1 ? "side by side, at the same time" : [factOf(exhibits[0], "equation"), factOf(exhibits[0], "kernel")].filter(Boolean).join(" · ");
    this.times = united(exhibits.map((e) => e.times));
    this.clock = timeScale(united(exhibits.map((e) => e.diagnostics.times)));
    for (const view of this.views) view.release?.();
    element("exhibits").replaceChildren();
    this.views = exhibits.map((exhibit, i) => this.viewOf(exhibit, i));
    this.charts = makeCharts(element("charts"), exhibits, this);
    element("facts").replaceChildren(...exhibits.map(factsOf));
    const spheres = exhibits.filter((e) => e.domain === "sphere" && e.thumbnail);
    this.camera = spheres.length ? cameraTowards(spheres[0].thumbnail.grid, spheres[0].thumbnail.values) : new Camera();
    this.home = { ...this.camera };
    this.isLog = this.isWide();
    for (const radio of document.querySelectorAll("[name=scale]")) radio.checked = (radio.value === "log") === this.isLog;
    const has = {
      neurons: exhibits.some((e) => e.landscapes.some((l) => l.neurons.length)),
      contours: hasGlobe && exhibits.some((e) => e.landscapes.some((l) => l.field)),
      atoms: exhibits.some((e) => e.track?.paths.length || (e.frames.atoms.places && !e.frames.atoms.crowd)),
      paths: exhibits.some((e) => e.track?.paths.length),
    };
    has.ground = has.contours;
    for (const label of document.querySelectorAll("#layers label")) label.hidden = !has[label.dataset.for];
    element("layers").hidden = !Object.values(has).some(Boolean);
    element("scale").hidden = !exhibits.some((e) => e.frames.high && e.frames.density);
    const slider = element("time");
    slider.max = this.times.length - 1;
    this.go(0);
    this.sizes?.disconnect();
    this.sizes = new ResizeObserver(() => this.invalidate());
    this.sizes.observe(section);
  }

  viewOf(exhibit, i) {
    const article = document.createElement("article"), head = document.createElement("h2"), state = document.createElement("span"), box = document.createElement("div");
    article.className = "exhibit";
    if (this.exhibits.length > 1) {
      const markOf = document.createElement("span");
      markOf.className = "mark"; markOf.style.background = RUNS[i];
      head.append(markOf, exhibit.name);
    }
    state.className = "state";
    head.append(state);
    article.append(head, box);
    element("exhibits").append(article);
    const view = exhibit.domain === "sphere" ? new GlobeView(box, exhibit, this) : new LineView(box, exhibit, this);
    view.state = state;
    return view;
  }

  // Whether one scale of colours needs a logarithm: a density exceeds 50 times its mean.
  isWide() {
    return this.exhibits.some((e) => e.highs.some((high, k) => high > 50 * e.frames.means[k] && e.frames.means[k] > 0));
  }

  // The scale of colours, the same for all that is shown.
  scaleAt(states) {
    const { fit } = this.options;
    let high = 0, mean = 0, low = Infinity;
    this.exhibits.forEach((e, i) => {
      if (!e.frames.density) { for (const v of this.binned(e, states[i])) high = Math.max(high, v); return; }
      high = Math.max(high, fit ? e.highs[states[i]] : Math.max(...e.highs));
      mean = Math.max(mean, ...(fit ? [e.frames.means[states[i]]] : e.frames.means));
      low = Math.min(low, e.frames.low);
    });
    if (!(high > 0)) return new Scale(0, 1);
    if (!this.isLog) {
      const start = !fit && low > 0.1 * high && isFinite(low) ? low : 0;
      return high - start <= 1e-6 * high ? new Scale(0.9 * high, 1.1 * high) : new Scale(start, high);
    }
    const floor = Math.max(1e-12 * high, Math.min(1e-4 * high, mean ? 1e-2 * mean : 1e-4 * high));
    return new Scale(floor, high, true);
  }

  binned(exhibit, k) {
    const view = this.views[this.exhibits.indexOf(exhibit)];
    return view.curveAt ? view.curveAt(k).values : [];
  }

  draw() {
    this.isAsked = false;
    const states = this.exhibits.map((e) => e.stateAt(this.time)), scale = this.scaleAt(states);
    this.views.forEach((view, i) => {
      view.draw(states[i], scale);
      const e = this.exhibits[i], verdict = e.track?.verdicts[states[i]], words = [`t = ${short(e.times[states[i]], 6)}`];
      const count = e.track?.counts[states[i]];
      if (Number.isInteger(count)) words.push(countWords(count, e.track.forming[states[i]]));
      if (verdict) words.push(`verdict: ${verdict}`);
      if (view.told !== words.join()) { view.told = words.join(); view.state.textContent = words.join(" · "); }
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
    this.index = Math.max(0, Math.min(this.times.length - 1, index));
    const slider = element("time"), text = `t = ${short(this.time, 6)}`;
    slider.value = this.index;
    slider.setAttribute("aria-valuetext", text);
    element("when").textContent = `${text} (${this.index + 1} of ${this.times.length})`;
    this.invalidate();
  }

  goToTime(time) {
    let best = 0;
    this.times.forEach((t, i) => { if (Math.abs(t - time) < Math.abs(this.times[best] - time)) best = i; });
    this.go(best);
  }

  play() {
    if (this.index === this.times.length - 1) this.go(0);
    this.isPlaying = true;
    const button = element("play");
    button.textContent = "❚❚"; button.setAttribute("aria-pressed", "true"); button.setAttribute("aria-label", "Pause");
    let before = performance.now(), due = 0, late = 0;
    const step = (now) => {
      if (!this.isPlaying) return;
      // Where pictures come late, globes have fewer pixels until the end.
      late = now - before > 45 ? late + 1 : 0;
      if (late > 2) this.sharpness = 0.5;
      due += ((now - before) / 1000) * Number(element("speed").value);
      before = now;
      const ahead = Math.floor(due);
      if (ahead > 0) { due -= ahead; this.go(this.index + ahead); }
      if (this.index === this.times.length - 1) this.pause(); else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  pause() {
    this.isPlaying = false;
    if (this.sharpness < 1) { this.sharpness = 1; this.invalidate(); }
    const button = element("play");
    button.textContent = "▶"; button.setAttribute("aria-pressed", "false"); button.setAttribute("aria-label", "Play");
  }

  setLog(isLog) {
    this.isLog = isLog;
    for (const radio of document.querySelectorAll("[name=scale]")) radio.checked = (radio.value === "log") === isLog;
    this.invalidate();
  }

  toggle(name) {
    const box = element(name);
    box.checked = !box.checked;
    this.options[name] = box.checked;
    this.invalidate();
  }

  zoom(factor) {
    this.camera.zoom = Math.max(1, Math.min(12, this.camera.zoom * factor));
    this.invalidate();
  }

  listen() {
    element("time").addEventListener("input", (event) => { this.pause(); this.go(Number(event.target.value)); });
    element("play").addEventListener("click", () => (this.isPlaying ? this.pause() : this.play()));
    for (const radio of document.querySelectorAll("[name=scale]")) radio.addEventListener("change", () => this.setLog(radio.value === "log"));
    for (const name of Object.keys(this.options)) element(name).addEventListener("change", (event) => { this.options[name] = event.target.checked; this.invalidate(); });
    element("back").addEventListener("click", () => { location.hash = ""; });
    element("export").addEventListener("click", () => this.export());
    element("help").addEventListener("click", () => element("keys").showModal());
    window.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || element("keys").open) return;
    const isChoice = event.target.tagName === "SELECT";
    if (event.key === "Escape" && !element("back").hidden) { location.hash = ""; return; }
    if (event.key === "?") { element("keys").showModal(); return; }
    if (!this.exhibits.length || isChoice) return;
    const isButton = ["BUTTON", "SUMMARY", "INPUT", "A"].includes(event.target.tagName) && event.target.id !== "time";
    if (event.key === " " && isButton) return;
    if (event.key.startsWith("Arrow") && event.target.type === "radio") return;
    const turn = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
    const keys = {
      " ": () => (this.isPlaying ? this.pause() : this.play()),
      ArrowLeft: () => { this.pause(); this.go(this.index - 1); },
      ArrowRight: () => { this.pause(); this.go(this.index + 1); },
      PageUp: () => { this.pause(); this.go(this.index - 10); },
      PageDown: () => { this.pause(); this.go(this.index + 10); },
      Home: () => { this.pause(); this.go(0); },
      End: () => { this.pause(); this.go(this.times.length - 1); },
      l: () => this.setLog(!this.isLog),
      f: () => this.toggle("fit"),
      n: () => this.toggle("neurons"),
      c: () => this.toggle("contours"),
      v: () => this.toggle("ground"),
      a: () => this.toggle("atoms"),
      p: () => this.toggle("paths"),
      e: () => this.export(),
      r: () => { Object.assign(this.camera, this.home); this.invalidate(); },
      "+": () => this.zoom(1.2),
      "=": () => this.zoom(1.2),
      "-": () => this.zoom(1 / 1.2),
    };
    if (event.shiftKey && turn) { this.camera.turn(...turn); this.invalidate(); event.preventDefault(); return; }
    const action = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!action) return;
    action();
    event.preventDefault();
  }

  // What is shown, as one picture: all canvases at their places, with the words between them.
  picture() {
    this.draw();
    const shown = element("show"), area = shown.getBoundingClientRect(), ratio = Math.max(2, Math.min(window.devicePixelRatio || 1, 3)), head = 34;
    const bottom = Math.max(...[...shown.querySelectorAll("canvas")].map((c) => c.getBoundingClientRect().bottom)) - area.top;
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    canvas.width = Math.round((area.width + 24) * ratio); canvas.height = Math.round((bottom + head + 16) * ratio);
    pen.scale(ratio, ratio);
    pen.fillStyle = "#fff"; pen.fillRect(0, 0, area.width + 24, bottom + head + 16);
    pen.fillStyle = INK; pen.font = `600 15px ${FONT.slice(5)}`;
    pen.fillText(`${element("title").textContent}   t = ${short(this.time, 6)}`, 12, 22, area.width);
    for (const part of shown.querySelectorAll("canvas")) {
      const at = part.getBoundingClientRect();
      if (at.width) pen.drawImage(part, 12 + at.left - area.left, head + at.top - area.top, at.width, at.height);
    }
    pen.textBaseline = "middle";
    for (const part of shown.querySelectorAll("h2, h3")) {
      const at = part.getBoundingClientRect(), choice = part.querySelector("select");
      pen.font = `600 12.5px ${FONT.slice(5)}`;
      pen.fillText(choice ? choice.selectedOptions[0].text : part.textContent, 12 + at.left - area.left, head + (at.top + at.bottom) / 2 - area.top, at.width);
    }
    return canvas;
  }

  export() {
    const name = `${this.exhibits.map((e) => e.name).join("_and_")}_t_${Number(this.time.toPrecision(6))}`.replace(/[^\w.+-]+/g, "_");
    this.picture().toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${name}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }, "image/png");
  }
}

// How many atoms there are, and how many more are forming.
function countWords(count, forming) {
  const atoms = count - forming;
  return `${atoms} atom${atoms === 1 ? "" : "s"}${forming ? `, ${forming} forming` : ""}`;
}

// Sorted times without those that are the same.
function united(lists) {
  const all = lists.flat().sort((a, b) => a - b), slack = 1e-9 * Math.max(1, Math.abs(all[all.length - 1] ?? 0));
  return all.filter((t, i) => i === 0 || t - all[i - 1] > slack);
}

const factOf = (run, name) => run.facts.find(([key]) => key === name)?.[1];

// A fact that all runs share; nothing if they do not.
function common(name) {
  const found = new Set(TOLD.runs.map((run) => factOf(run, name)));
  return found.size === 1 ? [...found][0] : "";
}

function factsOf(exhibit) {
  const box = document.createElement("div"), list = document.createElement("dl");
  const rows = [["run", exhibit.name], ...Object.entries(exhibit.parameters), ...exhibit.facts, ...exhibit.notes.map((note) => ["shown", note])];
  for (const [key, value] of rows) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = key; dd.textContent = value;
    list.append(dt, dd);
  }
  box.append(list);
  return box;
}

const app = new App();
window.mfpde = app;
app.start().catch((error) => {
  const told = element("loading");
  told.hidden = false; told.className = "problem";
  told.textContent = `This page could not be shown: ${error.message}`;
  throw error;
});
