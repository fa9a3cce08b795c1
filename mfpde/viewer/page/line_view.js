// A run on the circle as ring, curve and map of time and angle; a zonal one as curve and map.

class LineView {
  constructor(box, exhibit, app) {
    Object.assign(this, { exhibit, app, isZonal: exhibit.domain === "zonal", words: LABELS[exhibit.domain] });
    this.span = this.isZonal ? Math.PI : TURN;
    box.className = `stage line ${exhibit.domain}`;
    this.boxes = copyOf("line", box);
    this.ring = this.boxes.canvas;
    this.ring.setAttribute("aria-label", `Ring: the density drawn outwards from the circle (${exhibit.name})`);
    this.boxes.ring.hidden = this.isZonal;
    this.boxes.landscape.hidden = !exhibit.landscapes.length;
    readOut(this.ring, (x, y) => this.wordsAt(Math.atan2(this.ring.clientHeight / 2 - y, x - this.ring.clientWidth / 2)));
  }

  // Angle, density and landscape, as they are at a state.
  wordsAt(angle, k = this.k) {
    const { field } = this.exhibit.landscapeAt(this.exhibit.times[k]) ?? {}, at = turned(angle);
    const words = [`θ = ${inPi(at)}`, `${this.words.letter} = ${short(this.valueAt(this.exhibit.densityAt(k), at), 4)}`];
    if (field) words.push(`${field.name} = ${short(field.values[Math.round(((field.count - 1) * at) / this.span)], 4)}`);
    return words.join(" · ");
  }

  valueAt(density, angle) {
    const place = (angle - density.first) / density.step, low = Math.floor(place), share = place - low;
    return (1 - share) * this.cellAt(density, low) + share * this.cellAt(density, low + 1);
  }

  draw(k, scale) {
    this.k = k;
    const density = this.exhibit.densityAt(k), land = this.exhibit.landscapeAt(this.exhibit.times[k]);
    // Curves go deeper than colours, as in the figures.
    const { low, high, isLog } = scale, axis = isLog ? new Scale(Math.min(low, 1e-5 * high), 2 * high, true) : new Scale(0, 1.08 * high);
    Object.assign(this, { land, axis, scale });
    if (!this.isZonal) this.drawRing(density);
    this.curve ??= this.makeCurve();
    this.curve.draw(this.curveOf(density));
    this.map ??= this.makeMap();
    this.map.draw();
    if (this.boxes.landscape.hidden) return;
    this.landscape ??= this.makeLandscape();
    this.landscape.draw(this.landscapeOf(land));
  }

  drawRing(density) {
    const { pen, width, height } = prepared(this.ring), size = Math.min(width, height), { options } = this.app;
    const ring = { x: width / 2, y: height / 2, radius: 0.27 * size, room: 0.2 * size - 5 };
    if (options.neurons && this.land) this.drawSectors(pen, ring, this.land.neurons);
    drawRing(pen, ring, density, this.axis, this.scale);
    const at = (angle, r) => [ring.x + r * Math.cos(angle), ring.y - r * Math.sin(angle)];
    ["0", "π/2", "π", "3π/2"].forEach((text, quarter) => {
      const [x, y] = at((quarter * Math.PI) / 2, ring.radius + ring.room + 10);
      write(pen, text, clamp(x, 12, width - 12), clamp(y, 8, height - 8), { colour: MUTED, align: "center" });
    });
    if (this.exhibit.frames.atoms.areParticles) {
      pen.fillStyle = "rgba(28,36,48,0.35)";
      for (const { place } of this.exhibit.atomsAt(this.k)) { const [x, y] = at(place[0], ring.radius - 8); pen.fillRect(x - 1, y - 1, 2, 2); }
    }
    if (!options.atoms) return;
    for (const atom of this.exhibit.markedAt(this.k)) drawAtom(pen, ...at(atom.place[0], ring.radius), atom, 0.8, false);
  }

  // Where neurons are active and where none is, as sectors, and their directions.
  drawSectors(pen, { x, y, radius }, neurons) {
    this.forSpans(pen, neurons, ([from, to]) => {
      pen.beginPath(); pen.moveTo(x, y); pen.arc(x, y, radius - 6, -to, -from); pen.closePath(); pen.fill();
    });
    neurons.forEach((neuron, index) => {
      const angle = this.angleOf(neuron), colour = colourOfNeuron(index, neurons.length);
      const tip = [x + (radius - 18) * Math.cos(angle), y - (radius - 18) * Math.sin(angle)];
      polyline(pen, [[x, y], tip], colour, 1.4);
      drawDirection(pen, ...tip, neuron, index, neurons.length, { isAtEdge: tip[0] > x + radius / 2, isLow: tip[1] > y + radius / 2 });
    });
  }

  // Fill each span where a neuron is active with its tint, those where none is with hatching.
  forSpans(pen, neurons, fill) {
    neurons.forEach((neuron, index) => {
      pen.globalAlpha = Math.min(0.16, 0.64 / neurons.length);
      pen.fillStyle = colourOfNeuron(index, neurons.length);
      this.spansWhere((angle) => this.sumAt(neuron, angle) > 0).forEach(fill);
    });
    pen.globalAlpha = 1;
    pen.fillStyle = hatch(pen);
    const dead = this.spansWhere((angle) => neurons.every((neuron) => this.sumAt(neuron, angle) <= 0));
    if (neurons.length) dead.forEach(fill);
    return dead;
  }

  angleOf({ a }) { return this.isZonal ? (a[0] > 0 ? 0 : Math.PI) : turned(Math.atan2(a[1], a[0])); }

  // a.x + b of a neuron at an angle.
  sumAt({ a, b }, angle) { return a[0] * Math.cos(angle) + (this.isZonal ? 0 : a[1] * Math.sin(angle)) + b; }

  // Spans of angle in [0, span] where something holds, to a thousandth of a turn.
  spansWhere(holds) {
    const steps = 1440, spans = [];
    for (let i = 0; i < steps; i++) {
      const from = (this.span * i) / steps, to = (this.span * (i + 1)) / steps, last = spans[spans.length - 1];
      if (!holds((from + to) / 2)) continue;
      if (last?.[1] === from) last[1] = to; else spans.push([from, to]);
    }
    return spans;
  }

  // Value of the i-th cell, also beyond the ends: around the circle, or as at the pole.
  cellAt({ rows, values }, i) { return values[this.isZonal ? clamp(i, 0, rows - 1) : (i + rows) % rows]; }

  // Angles and heights of a density on the axis of its plot, with a cell more at both ends.
  curveOf(density) {
    const cells = Array.from({ length: density.rows + 2 }, (_, i) => i - 1);
    return [cells.map((i) => density.first + density.step * i), cells.map((i) => clamp(this.axis.at(this.cellAt(density, i))))];
  }

  makeCurve() {
    const { boxes: { curve, landscape }, exhibit, words } = this, ticks = (u) => this.axis.ticks(u.height / 28);
    return new Plot(curve, {
      label: `${words.density} against the angle (${exhibit.name})`, sync: `angle ${exhibit.name}`,
      data: this.curveOf(exhibit.densityAt(this.k)), padding: [12, 14, 0, 0],
      x: angleAxis(this.span, landscape.hidden ? words.angle : undefined),
      y: {
        label: words.density, scale: { range: [0, 1] },
        splits: (u) => ticks(u).map((tick) => this.axis.at(tick)), values: (u) => ticks(u).map((tick) => short(tick)),
      },
      series: [{ stroke: DENSITY, fill: TINT, width: 1.5 }],
      over: (pen, place) => this.drawAtoms(pen, place), words: (angle) => this.wordsAt(angle),
    });
  }

  // Atoms that the state carries as stems as high as their mass (the whole height is 1); all as rings.
  drawAtoms(pen, { x, y, top, right }) {
    const { exhibit, app, k, axis } = this, { areParticles } = exhibit.frames.atoms, density = exhibit.densityAt(k);
    const own = areParticles ? [] : exhibit.atomsAt(k), angleOf = ({ place }) => turned(place[0]);
    const note = areParticles ? "particles in bins" : own.length ? "atom (height: mass, 1 at the top)" : "";
    write(pen, note, right, top - 6, { align: "right", colour: own.length ? ATOM : MUTED });
    if (!app.options.atoms) return;
    for (const atom of own) polyline(pen, [0, atom.mass].map((level) => [x(angleOf(atom)), y(Math.min(1, level))]), ATOM, 1.6);
    for (const atom of exhibit.markedAt(k)) {
      const angle = angleOf(atom), stem = own.find((o) => Math.abs(Math.sin((angleOf(o) - angle) / 2)) < 1e-3);
      drawAtom(pen, x(angle), Math.max(top + 8, y(clamp(stem ? stem.mass : axis.at(this.valueAt(density, angle))))), atom, 0.55, true);
    }
  }

  // Angles and values of V, or of the drift where there is none.
  landscapeOf(land) {
    const count = land?.field?.count ?? 2, values = land?.field ? [...land.field.values] : [null, null];
    return [Array.from({ length: count }, (_, i) => (this.span * i) / (count - 1)), values];
  }

  makeLandscape() {
    const { boxes: { landscape }, exhibit } = this, isDrift = exhibit.landscapes.some(({ field }) => field?.name === "drift");
    return new Plot(landscape, {
      label: `Landscape against the angle (${exhibit.name})`, sync: `angle ${exhibit.name}`,
      data: this.landscapeOf(this.land), padding: [10, 14, 0, 0],
      x: angleAxis(this.span, this.words.angle), y: { label: isDrift ? "drift along θ" : "landscape V" },
      series: [{ stroke: INK, width: 1.3 }], words: (angle) => this.wordsAt(angle),
      under: (pen, place) => this.drawActive(pen, place), over: (pen, place) => this.drawDirections(pen, place),
    });
  }

  drawActive(pen, place) {
    if (!this.app.options.neurons || !this.land) return;
    clipTo(pen, place);
    const { x, top, bottom } = place, wide = ([from, to]) => x(to) - x(from);
    const dead = this.forSpans(pen, this.land.neurons, (span) => pen.fillRect(x(span[0]), top, wide(span), bottom - top));
    for (const span of dead.filter((s) => wide(s) > 96)) {
      write(pen, "no neuron active", (x(span[0]) + x(span[1])) / 2, bottom - 9, { align: "center", isHaloed: true, colour: MUTED });
    }
  }

  drawDirections(pen, { x, top, left, right }) {
    const neurons = (this.app.options.neurons && this.land?.neurons) || [];
    neurons.forEach((neuron, index) => {
      const at = x(this.angleOf(neuron));
      if (at >= left && at <= right) drawDirection(pen, at, top, neuron, index, neurons.length, { isAtEdge: at + 24 > right });
    });
  }

  makeMap() {
    const { exhibit, app } = this, times = exhibit.times.map((t) => app.onAxis(t));
    return new Plot(this.boxes.map, {
      label: `Map of the density: time to the right, angle upwards; click to go to a time (${exhibit.name})`, sync: "time",
      data: [times, times.map(() => null)], series: [{}], padding: [34, 14, 0, 0],
      x: app.timeAxis("time t"), y: { ...angleAxis(this.span, this.words.angle), scale: { range: [0, this.span] }, hasGrid: false },
      under: (pen, place) => this.drawMap(pen, place), over: (pen, place) => this.drawOverMap(pen, place),
      words: (t, angle) => { const k = exhibit.stateAt(t); return `t = ${short(exhibit.times[k], 6)} · ${this.wordsAt(angle, k)}`; },
      picked: (t) => app.goToTime(t),
    });
  }

  drawMap(pen, { left, right, top, bottom, timeAt }) {
    const wide = Math.min(220, 0.4 * (right - left)), { exhibit, scale } = this;
    drawBar(pen, { x: right - wide, y: 4, wide }, scale, COLOURS, this.words.density);
    const key = [scale.low, scale.high, scale.isLog, left, right, timeAt(left), timeAt(right)].join();
    if (this.mapKey !== key) {
      const states = Array.from({ length: Math.round(right - left) }, (_, i) => exhibit.stateAt(timeAt(left + i + 0.5)));
      Object.assign(this, { mapKey: key, mapImage: this.imageOf(states) });
    }
    pen.drawImage(this.mapImage, left, top, right - left, bottom - top);
  }

  // A picture with a column for each of some states, angles upwards.
  imageOf(states) {
    const shown = new Map(states.map((k) => [k, blocksOf(this.exhibit.densityAt(k), 160).map(({ value }) => byteOf(this.scale.at(value))).reverse()]));
    const width = states.length, height = shown.get(states[0]).length;
    const canvas = Object.assign(node("canvas"), { width, height }), pen = canvas.getContext("2d"), image = pen.createImageData(width, height);
    states.forEach((k, x) => shown.get(k).forEach((byte, y) => {
      image.data.set([...COLOURS.subarray(3 * byte, 3 * byte + 3), 255], 4 * (y * width + x));
    }));
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  drawOverMap(pen, place) {
    const { exhibit, app } = this, { x, y, top, bottom } = place, at = (t) => x(app.onAxis(t));
    clipTo(pen, { ...place, top: top - 4 });
    for (const time of exhibit.breakpoints.slice(1, -1)) polyline(pen, [[at(time), top], [at(time), bottom]], THIN, 0.6);
    if (app.options.paths && exhibit.track) {
      const areJoined = (p, q) => this.isZonal || Math.abs(p[1] - q[1]) < (bottom - top) / 2;
      for (const { times, places, mass } of exhibit.track.paths) {
        const points = times.map((t, i) => [at(t), y(turned(places[i][0]))]);
        polyline(pen, points, ATOM, 0.8 + 1.8 * mass, true, areJoined);
      }
      for (const { kind, time, place: [angle] } of exhibit.track.junctions) mark(pen, kind, at(time), y(turned(angle)));
    }
    app.drawNow(pen, place, exhibit.times[this.k]);
  }
}

// Blocks of cells along an angle with the largest value of each, so that a peak of one cell is seen.
function blocksOf({ first, step, rows, values }, most) {
  const size = Math.ceil(rows / most), count = Math.ceil(rows / size);
  return Array.from({ length: count }, (_, i) => ({
    from: first + step * (i * size - 0.5), to: first + step * (Math.min(rows, (i + 1) * size) - 0.5),
    value: values.slice(i * size, (i + 1) * size).reduce((a, b) => Math.max(a, b)),
  }));
}

// A density around a circle in colours, and its height outwards.
function drawRing(pen, { x, y, radius, room }, density, axis, scale) {
  const blocks = blocksOf(density, 720), outline = blocks.map(({ from, to, value }) => {
    const angle = (from + to) / 2, r = radius + 5 + room * clamp(axis.at(value));
    return [x + r * Math.cos(angle), y - r * Math.sin(angle)];
  });
  pen.beginPath();
  outline.forEach((point) => pen.lineTo(...point));
  pen.closePath(); stroke(pen, DENSITY, 1.3);
  pen.arc(x, y, radius + 4, 0, TURN, true);
  pen.fillStyle = TINT; pen.fill("evenodd");
  for (const { from, to, value } of blocks) {
    pen.beginPath(); pen.arc(x, y, radius, -to - 0.01, -from);
    stroke(pen, colourAt(COLOURS, scale.at(value)), 8);
  }
  for (const r of [radius - 4, radius + 4]) { circle(pen, x, y, r); stroke(pen, THIN, 0.7); }
}
