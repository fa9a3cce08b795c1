// Curves of the diagnostics against time, with a marker that moves; the atoms as bands.

class Chart {
  constructor(host, app, { title, unit, series, isLog = false, options = null }) {
    Object.assign(this, { app, series, isLog });
    this.box = document.createElement("div");
    this.box.className = "chart";
    const head = document.createElement("h3");
    if (options) {
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", "Diagnostic");
      for (const [key, text] of options) choice.add(new Option(text, key));
      choice.addEventListener("change", () => { this.series = options.find(([key]) => key === choice.value)[2]; this.describe(title); app.invalidate(); });
      head.append(choice);
      this.series = options[0][2];
    } else {
      head.textContent = title;
      if (unit) { const u = document.createElement("span"); u.className = "unit"; u.textContent = ` ${unit}`; head.append(u); }
    }
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.describe(title);
    this.box.append(head, this.canvas);
    host.append(this.box);
    this.canvas.addEventListener("click", (event) => {
      const share = (event.offsetX - this.left) / (this.right - this.left);
      app.goToTime(app.clock.inverse(Math.max(0, Math.min(1, share))));
    });
    readOut(this.canvas, (x) => this.told(x));
  }

  // Time and values of the save nearest to a place.
  told(x) {
    if (x < this.left || x > this.right) return "";
    const time = this.app.clock.inverse((x - this.left) / (this.right - this.left));
    const told = this.series.map(({ name, times, values }) => {
      const k = nearestOf(times, time);
      return [times[k], `${this.series.length > 1 ? `${name}: ` : ""}${short(values[k], 6)}`];
    });
    return [`t = ${short(told[0][0], 6)}`, ...told.map(([, words]) => words)].join(" · ");
  }

  describe(title) {
    const told = this.series.map(({ name, values }) => {
      const known = values.filter((v) => v !== null);
      return `${name}: ${short(known[0], 6)} to ${short(known[known.length - 1], 6)}`;
    });
    this.canvas.setAttribute("aria-label", `${title} against time. ${told.join("; ")}`);
  }

  axisOf() {
    const all = this.series.flatMap(({ values }) => values.filter((v) => v !== null && (!this.isLog || v > 0)));
    if (!all.length) return new Scale(0, 1);
    let low = Infinity, high = -Infinity;
    for (const v of all) { if (v < low) low = v; if (v > high) high = v; }
    if (this.isLog) { low = Math.max(low, 1e-16 * high); return low < high ? new Scale(low / 1.5, 1.5 * high, true) : new Scale(low / 2, 2 * high, true); }
    const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
    return new Scale(low - room, high + room);
  }

  draw() {
    const { pen, width, height } = prepared(this.canvas), { clock } = this.app;
    if (!width) return;
    const axis = this.axisOf(), box = { left: 58, right: width - 10, top: 17, bottom: height - 18 };
    Object.assign(this, { left: box.left, right: box.right });
    const offset = this.isLog ? 0 : offsetOf(axis);
    frameOf(pen, box, null, 0);
    pen.textAlign = "right"; pen.textBaseline = "middle"; pen.fillStyle = INK;
    for (const tick of axis.ticks(this.isLog ? 4 : 3)) {
      const y = box.bottom - (box.bottom - box.top) * axis.at(tick);
      pen.strokeStyle = "#eceff3"; pen.lineWidth = 0.7; pen.beginPath(); pen.moveTo(box.left, y); pen.lineTo(box.right, y); pen.stroke();
      pen.fillText(short(tick - offset, 3), box.left - 5, y);
    }
    if (offset) { pen.textAlign = "left"; pen.fillStyle = MUTED; pen.fillText(`${short(offset, 7)} +`, box.left + 4, box.top - 7); }
    pen.textBaseline = "alphabetic";
    drawTimes(pen, box, clock, width > 300 ? 6 : 4);
    const x = (t) => box.left + (box.right - box.left) * Math.max(0, Math.min(1, clock.at(t)));
    const y = (v) => box.bottom - (box.bottom - box.top) * axis.at(v);
    for (const { times, values, colour } of this.series) {
      pen.beginPath();
      let isDown = false;
      times.forEach((t, i) => {
        const v = values[i];
        if (v === null || (this.isLog && v <= 0)) { isDown = false; return; }
        if (isDown) pen.lineTo(x(t), y(v)); else pen.moveTo(x(t), y(v));
        isDown = true;
      });
      pen.strokeStyle = colour; pen.lineWidth = 1.5; pen.stroke();
    }
    const now = this.app.time;
    pen.beginPath(); pen.moveTo(x(now), box.top - 4); pen.lineTo(x(now), box.bottom);
    pen.strokeStyle = "rgba(28,36,48,0.55)"; pen.lineWidth = 1; pen.stroke();
    let line = 0;
    for (const { times, values, colour } of this.series) {
      const v = valueAt(times, values, now);
      if (v === null || (this.isLog && v <= 0)) continue;
      pen.beginPath(); pen.arc(x(now), y(v), 3.6, 0, TURN); pen.fillStyle = colour; pen.fill(); pen.strokeStyle = "#fff"; pen.lineWidth = 1.2; pen.stroke();
      pen.textAlign = "right";
      haloed(pen, short(v, this.series.length > 1 ? 4 : 6), box.right - 80 * line++, 10, colour);
    }
  }
}

// What ticks have in common, to be written once, where they differ late.
function offsetOf(axis) {
  const reach = axis.high - axis.low, size = Math.max(Math.abs(axis.low), Math.abs(axis.high));
  if (reach > 1e-3 * size) return 0;
  const power = 10 ** Math.ceil(Math.log10(reach));
  return Math.round(axis.low / power) * power;
}

function nearestOf(times, time) {
  let best = 0;
  for (let i = 1; i < times.length; i++) if (Math.abs(times[i] - time) < Math.abs(times[best] - time)) best = i;
  return best;
}

// The value at the last save at or before a time.
function valueAt(times, values, time) {
  let found = null;
  for (let i = 0; i < times.length && times[i] <= time + 1e-9 * Math.max(1, Math.abs(time)); i++) found = values[i];
  return found;
}

function drawTimes(pen, box, clock, wanted) {
  pen.fillStyle = INK; pen.textAlign = "center";
  const x = (t) => box.left + (box.right - box.left) * clock.at(t);
  for (const t of clock.ticks(wanted)) pen.fillText(short(t), Math.min(x(t), box.right - 6), box.bottom + 13);
}

// Energy, dissipation, mass and one of the others, for one or two runs.
function makeCharts(host, exhibits, app) {
  host.replaceChildren();
  const series = (name, change = (v) => v) => exhibits.flatMap((e, i) => {
    const curve = e.diagnostics.curves[name];
    return curve ? [{ name: e.name, times: e.diagnostics.times, values: curve.values.map((v) => (v === null ? null : change(v, curve.values))), colour: exhibits.length > 1 ? RUNS[i] : DENSITY }] : [];
  });
  const told = (name) => exhibits.map((e) => e.diagnostics.curves[name]).find(Boolean);
  const charts = [];
  const add = (title, unit, lines, more) => { if (lines.length) charts.push(new Chart(host, app, { title, unit, series: lines, ...more })); };
  add("Energy E", "", series("energy"));
  const dissipation = series("dissipation");
  add("Dissipation ∫|v|² dμ", "log scale", dissipation.map((s) => ({ ...s, values: s.values.map((v) => (v === null ? null : Math.abs(v))) })), { isLog: true });
  const others = [...new Set(exhibits.flatMap((e) => Object.keys(e.diagnostics.curves)))].filter((n) => !["energy", "dissipation", "mass"].includes(n));
  if (others.length) {
    const options = others.map((n) => { const c = told(n); return [n, `${c.meaning || n.replaceAll("_", " ")}${c.unit && c.unit !== "1" ? ` [${c.unit}]` : ""}`, series(n)]; });
    charts.push(new Chart(host, app, { title: "Diagnostic", options }));
  }
  // Rounding is a number among the facts, and no curve.
  const drifts = series("mass", (v, all) => v - all[0]);
  if (drifts.some(({ values }) => values.some((v) => Math.abs(v) > 1e-12))) add("Mass − mass at the start", "", drifts);
  exhibits.forEach((e, i) => { if (e.track?.paths.length) charts.push(new TreeChart(host, app, e, exhibits.length > 1 ? ` · ${e.name}` : "")); });
  return charts;
}

// Atoms as bands as high as their masses that join where atoms merge; dark is what has arrived.
class TreeChart {
  constructor(host, app, exhibit, suffix) {
    Object.assign(this, { app, exhibit });
    this.box = document.createElement("div");
    this.box.className = "chart tree";
    const head = document.createElement("h3");
    head.textContent = `Atoms${suffix} `;
    const unitText = document.createElement("span");
    unitText.className = "unit"; unitText.textContent = "masses; pale: on its way";
    head.append(unitText);
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    const merges = exhibit.track.junctions.filter((j) => j.kind === "merge").length;
    this.canvas.setAttribute("aria-label", `Tree of the atoms of ${exhibit.name}: ${exhibit.track.paths.length} paths, ${merges} merges`);
    this.box.append(head, this.canvas);
    host.append(this.box);
    this.bands = bandsOf(exhibit.track);
    this.canvas.addEventListener("click", (event) => app.goToTime(app.clock.inverse(Math.max(0, Math.min(1, (event.offsetX - this.left) / (this.right - this.left))))));
    readOut(this.canvas, (x, y) => this.told(x, y));
  }

  // The atom whose band is at a place.
  told(x, y) {
    if (x < this.left || x > this.right) return "";
    const time = this.app.clock.inverse((x - this.left) / (this.right - this.left)), height = this.axis.inverse((this.bottom - y) / (this.bottom - this.top));
    for (const { path, times, low, high, arrived } of this.bands) {
      if (time < times[0] || time > times[times.length - 1]) continue;
      const [base, top, there] = [low, high, arrived].map((values) => interpolated(times, values, time));
      if (height >= base && height <= top) return `t = ${short(time)} · atom ${path.identity}: mass ${short(top - base)}, arrived ${short(there - base)}`;
    }
    return `t = ${short(time)}`;
  }

  draw() {
    const { pen, width, height } = prepared(this.canvas), { clock } = this.app, box = { left: 58, right: width - 62, top: 6, bottom: height - 18 };
    if (!width) return;
    const top = Math.max(1, ...this.bands.flatMap((b) => b.high)), axis = new Scale(0, top);
    Object.assign(this, { axis, ...box });
    frameOf(pen, box, axis, 2);
    drawTimes(pen, box, clock, width > 240 ? 4 : 2);
    const x = (t) => box.left + (box.right - box.left) * Math.max(0, Math.min(1, clock.at(t))), y = (v) => box.bottom - (box.bottom - box.top) * axis.at(v);
    for (const band of this.bands) {
      pen.fillStyle = NEURONS[band.family % NEURONS.length];
      for (const [tops, alpha] of [[band.high, 0.28], [band.arrived, 0.5]]) {
        pen.globalAlpha = alpha;
        pen.beginPath();
        band.times.forEach((t, i) => (i ? pen.lineTo(x(t), y(tops[i])) : pen.moveTo(x(t), y(tops[i]))));
        for (let i = band.times.length - 1; i >= 0; i--) pen.lineTo(x(band.times[i]), y(band.low[i]));
        pen.closePath(); pen.fill();
      }
      pen.globalAlpha = 1;
    }
    for (const band of this.bands) {
      const middle = (time) => y((interpolated(band.times, band.low, time) + interpolated(band.times, band.high, time)) / 2);
      if (band.path.birth && band.path.birth !== "fission") mark(pen, band.path.birth, x(band.path.begins), middle(band.path.begins));
      if (band.path.end === "fission" || band.path.end === "death") mark(pen, band.path.end, x(band.path.ends), middle(band.path.ends));
    }
    this.label(pen, box, y);
    const now = x(this.app.time);
    pen.beginPath(); pen.moveTo(now, box.top - 4); pen.lineTo(now, box.bottom); pen.strokeStyle = "rgba(28,36,48,0.55)"; pen.lineWidth = 1; pen.stroke();
  }

  // Masses at the right edge, where there is room for them.
  label(pen, box, y) {
    pen.textAlign = "left"; pen.textBaseline = "middle"; pen.fillStyle = INK;
    let free = Infinity;
    const there = this.bands.filter((b) => b.path.there).map((b) => ({ at: y((b.low[b.low.length - 1] + b.high[b.high.length - 1]) / 2), text: short(b.path.masses[b.path.masses.length - 1]) }));
    for (const { at, text } of there.sort((a, b) => b.at - a.at)) if (free - at > 11) { pen.fillText(text, box.right + 5, at); free = at; }
    pen.textBaseline = "alphabetic";
  }
}

function interpolated(times, values, time) {
  let i = 0;
  while (i < times.length - 2 && times[i + 1] < time) i++;
  if (times.length === 1 || times[i + 1] === times[i]) return values[i];
  const u = Math.max(0, Math.min(1, (time - times[i]) / (times[i + 1] - times[i])));
  return (1 - u) * values[i] + u * values[i + 1];
}

// A band for each atom, on those below it at the time; those that will join are neighbours.
function bandsOf(track) {
  const paths = new Map(track.paths.map((p) => [p.identity, p])), bands = [], placed = new Set();
  const roots = track.paths.filter((p) => !p.children.length).sort((a, b) => b.masses[b.masses.length - 1] - a.masses[a.masses.length - 1]);
  const place = (path, family) => {
    if (!path || placed.has(path)) return;
    placed.add(path);
    for (const parent of path.parents) place(paths.get(parent), family);
    const known = path.arrived.map((v, i) => v ?? path.masses[i]);
    bands.push({ path, family, known, times: [], low: [], high: [], arrived: [] });
  };
  roots.forEach(place);
  const times = [...new Set(track.paths.flatMap((p) => [p.begins, ...p.times, p.ends]))].sort((a, b) => a - b);
  // Just before and just after each time.
  for (const t of times) for (const isAfter of [false, true]) {
    let base = 0;
    for (const band of bands) {
      const { begins, ends, times: own, masses } = band.path;
      const isAlive = isAfter ? begins <= t && (t < ends || begins === ends) : begins < t && t <= ends;
      if (!isAlive) continue;
      const top = base + interpolated(own, masses, t);
      band.times.push(t); band.low.push(base); band.high.push(top); band.arrived.push(base + interpolated(own, band.known, t));
      base = top;
    }
  }
  return bands.filter((band) => band.times.length);
}
