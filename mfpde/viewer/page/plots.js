// Plots by uPlot: words beside the pointer, zoom by dragging (twice clicked: all of it), and what is
// drawn before and over its curves.

class Plot {
  static all = [];

  constructor(host, { label, data, x, y, series, sync, padding, under, over, words, picked }) {
    this.host = host;
    Plot.all.push(this);
    host.classList.add("plot");
    const painted = (paint) => [(u) => paint && this.paint(u, paint)];
    const u = (this.u = new uPlot({
      width: host.clientWidth || 300, height: host.clientHeight || 100, padding,
      series: [{}, ...series.map((look) => ({ pxAlign: 0, points: { show: false }, ...look }))],
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, dist: 4 }, sync: { key: sync } },
      scales: { x: { time: false, ...x.scale }, y: { ...y.scale } },
      axes: [axisOf(x, true), axisOf(y, false)],
      hooks: { drawClear: painted(under), draw: painted(over) },
    }, data, host));
    u.ctx.canvas.setAttribute("role", "img");
    u.ctx.canvas.setAttribute("aria-label", label);
    readOut(u.over, (px, py) => words(u.posToVal(px, "x"), u.posToVal(py, "y")));
    if (picked) u.over.addEventListener("click", ({ offsetX }) => picked(u.posToVal(offsetX, "x")));
  }

  // Paint in CSS pixels, with places of values.
  paint(u, paint) {
    const { ctx: pen } = u, ratio = uPlot.pxRatio;
    const [left, top, wide, tall] = ["left", "top", "width", "height"].map((side) => u.bbox[side] / ratio);
    const [x, y] = [(value) => left + u.valToPos(value, "x"), (value) => top + u.valToPos(value, "y")];
    pen.save();
    pen.scale(ratio, ratio);
    paint(pen, { left, top, right: left + wide, bottom: top + tall, x, y, valueAt: (place) => u.posToVal(place - left, "x") });
    pen.restore();
  }

  draw(data) {
    const { u, host } = this, width = host.clientWidth, height = host.clientHeight;
    // A new plot draws itself, when all that is asked for now has been done.
    if (!width || !u.status) return;
    if (data) u.setData(data, false);
    if (width !== u.width || height !== u.height) u.setSize({ width, height });
    else u.redraw(Boolean(data), false);
  }
}

function clipTo(pen, { left, top, right, bottom }) {
  pen.beginPath(); pen.rect(left, top, right - left, bottom - top); pen.clip();
}

function axisOf({ label, splits, values, scale, hasGrid }, isX) {
  const line = { stroke: MUTED, width: 0.7 }, longest = (texts) => Math.max(0, ...(texts ?? []).map((text) => text.length));
  const ticks = (u, axis, low, high) => new Scale(low, high, scale?.distr === 3).ticks(isX ? u.width / 62 : u.height / 28);
  return {
    label, font: SMALL, labelFont: SMALL, labelSize: 16, labelGap: 0, stroke: INK, gap: 3, space: 0,
    // Labels have as much room as the longest takes.
    size: isX ? 20 : (u, texts) => Math.max(48, 14 + 6.2 * longest(texts)),
    splits: splits ?? ticks,
    values: values ?? ((u, found) => found.map((tick) => short(tick, digitsFor(found)))),
    grid: { show: hasGrid ?? !isX, stroke: "#eceff3", width: 0.7 },
    ticks: { ...line, size: 4 }, border: { show: true, ...line },
  };
}

// An axis of angles from 0 to a half turn or a whole one, with ticks at parts of it.
function angleAxis(span, label) {
  const words = (tick) => {
    const parts = [1, 2, 4].find((n) => Number.isInteger(n * tick)), count = parts * tick;
    if (!count) return tick ? `${short(tick)}π` : "0";
    return `${count === 1 ? "" : count}π${parts === 1 ? "" : `/${parts}`}`;
  };
  return {
    label, scale: { range: (u, low, high) => [Math.max(0, low), Math.min(span, high)] },
    splits: (u, axis, low, high) => new Scale(low / Math.PI, high / Math.PI).ticks(4).map((tick) => tick * Math.PI),
    values: (u, ticks) => ticks.map((tick) => words(Number((tick / Math.PI).toPrecision(9)))),
  };
}

// A plot of something against time under its heading, which tells the value now.
class Chart {
  constructor(host, app, { title, unit = "", choices = null, series = [], isLog = false, plot = {} }) {
    const { title: name, select, unit: units, value, div: place } = copyOf("chart", host);
    Object.assign(this, { app, isLog, series: choices ? choices[0].series : series, value });
    name.hidden = !(select.hidden = !choices);
    name.textContent = title;
    units.textContent = unit;
    for (const { title: text } of choices ?? []) select.add(new Option(text));
    select.addEventListener("change", () => {
      this.series = choices[select.selectedIndex].series;
      this.plot.draw(this.data());
      app.invalidate();
    });
    this.plot = new Plot(place, {
      label: `${title} against time`, data: plot.data ?? this.data(), sync: "time", padding: [8, 10, 0, 0],
      x: app.timeAxis(), y: { scale: { distr: isLog ? 3 : 1 } },
      series: this.series.map(({ colour }) => ({ stroke: colour, width: 1.5, spanGaps: this.series.length > 1, points: { show: app.times.length === 1 } })),
      over: (pen, around) => { clipTo(pen, { ...around, top: 0 }); app.drawNow(pen, around); },
      words: (time) => this.wordsAt(time), picked: (time) => app.goToTime(time), ...plot,
    });
  }

  data() {
    const { app, isLog, series } = this;
    return uPlot.join(series.map(({ times, values }) => [times.map((t) => app.onAxis(t)), isLog ? values.map((v) => (v > 0 ? v : null)) : values]));
  }

  // Time and values of the save nearest to a time.
  wordsAt(time) {
    const told = this.series.map(({ name, times, values }) => {
      const k = nearestOf(times, time);
      return `${this.series.length > 1 ? `${name}: ` : ""}t = ${short(times[k], 6)} · ${short(values[k], 6)}`;
    });
    return told.join(" · ");
  }

  draw() {
    const { series, app } = this, digits = series.length > 1 ? 4 : 6;
    this.value.textContent = series.map(({ times, values }) => short(values[lastAt(times, app.time)], digits)).join("  |  ");
    this.plot.draw();
  }
}

// Energy, dissipation, one of the other diagnostics and the atoms, for one or two runs.
function makeCharts(host, exhibits, app) {
  const seriesOf = (name, change = (v) => v) => exhibits.map(({ name: run, diagnostics: { times, curves } }, i) => {
    const values = curves[name]?.values;
    return { name: run, times, colour: RUNS[i], values: values?.map((v) => (v === null ? v : change(v, values[0]))) };
  }).filter(({ values }) => values);
  const charts = [], add = (title, series, more) => { if (series.length) charts.push(new Chart(host, app, { title, series, ...more })); };
  host.replaceChildren();
  add("energy E", seriesOf("energy"));
  add("dissipation", seriesOf("dissipation", Math.abs), { unit: "∫|v|² dμ", isLog: true });
  const others = new Map(exhibits.flatMap((e) => Object.entries(e.diagnostics.curves)));
  for (const name of ["energy", "dissipation", "mass"]) others.delete(name);
  const choices = [...others].map(([name, { meaning, unit }]) => ({
    title: `${meaning || name.replaceAll("_", " ")}${unit && unit !== "1" ? ` [${unit}]` : ""}`, series: seriesOf(name),
  }));
  if (choices.length) charts.push(new Chart(host, app, { title: "Diagnostic", choices }));
  // Rounding is a number among the facts, and no curve.
  const drifts = seriesOf("mass", (v, first) => v - first);
  if (drifts.some(({ values }) => values.some((v) => Math.abs(v) > 1e-12))) add("mass − mass at the start", drifts);
  for (const exhibit of exhibits) if (exhibit.track?.paths.length) charts.push(treeOf(host, app, exhibit));
  return charts;
}

// Atoms as bands as high as their masses that join where atoms merge; dark is what has arrived.
function treeOf(host, app, { name, track: { bands }, diagnostics }) {
  const top = Math.max(1, ...bands.flatMap(({ high }) => high)), whose = app.exhibits.length > 1 ? ` · ${name}` : "";
  return new Chart(host, app, {
    title: `mass of atoms${whose}`, unit: "(pale, +: on its way)",
    plot: {
      data: [diagnostics.times.map((t) => app.onAxis(t)), diagnostics.times.map(() => null)], series: [{}],
      padding: [8, 50, 0, 0], y: { scale: { range: [0, top] } },
      words: (time, mass) => wordsOfBand(bands, time, mass),
      over: (pen, place) => { paintBands(pen, place, bands, app); app.drawNow(pen, place); },
    },
  });
}

// The atom whose band is at a place.
function wordsOfBand(bands, time, mass) {
  const t = `t = ${short(time)}`;
  for (const { identity, times, low, arrived, high } of bands) {
    const i = lastAt(times, time), isThere = time >= times[0] && time <= times.at(-1);
    if (isThere && mass >= low[i] && mass <= high[i]) return `${t} · atom ${identity}: mass ${short(high[i] - low[i])}, arrived ${short(arrived[i] - low[i])}`;
  }
  return t;
}

function paintBands(pen, place, bands, app) {
  const { x, y, right } = place, at = (t) => x(app.onAxis(t));
  const middle = ({ low, high }, i) => y((low.at(i) + high.at(i)) / 2);
  let free = Infinity;
  for (const band of bands.filter(({ there }) => there)) {
    if (free - middle(band, -1) < 11) continue;
    free = middle(band, -1);
    write(pen, short(band.high.at(-1) - band.low.at(-1)), right + 5, free);
  }
  clipTo(pen, { ...place, top: 0 });
  for (const { times, low, high, arrived } of bands) {
    const edge = (levels) => times.map((t, i) => [at(t), y(levels[i])]), floor = edge(low).reverse();
    for (const [tops, alpha] of [[high, 0.3], [arrived, 0.6]]) {
      pen.globalAlpha = alpha;
      polygon(pen, [...edge(tops), ...floor], ATOM);
    }
    pen.globalAlpha = 1;
    // White between neighbours, which are of one colour.
    polyline(pen, edge(high), "#fff", 1.2);
  }
  for (const band of bands) {
    if (band.birth) mark(pen, band.birth, at(band.times[0]), middle(band, 0));
    if (["fission", "death"].includes(band.end)) mark(pen, band.end, at(band.times.at(-1)), middle(band, -1));
  }
}
