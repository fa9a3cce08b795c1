// A run on the circle or on a zonal grid: curve, landscape, and map of time and angle.

class LineView {
  constructor(box, exhibit, app) {
    Object.assign(this, { exhibit, app, isZonal: exhibit.domain === "zonal", words: LABELS[exhibit.domain] });
    this.span = this.isZonal ? Math.PI : TURN;
    box.className = `stage line ${exhibit.domain}`;
    this.boxes = copyOf("line", box);
    this.boxes.landscape.hidden = !exhibit.landscapes.length;
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
    this.curve ??= this.makeCurve();
    this.curve.draw(this.curveOf(density));
    this.map ??= this.makeMap();
    this.map.draw();
    if (this.boxes.landscape.hidden) return;
    this.landscape ??= this.makeLandscape();
    this.landscape.draw(this.landscapeOf(land));
  }

  angleOf({ a }) { return this.isZonal ? (a[0] > 0 ? 0 : Math.PI) : turned(Math.atan2(a[1], a[0])); }

  // a.x + b of a neuron at an angle.
  sumAt({ a, b }, angle) { return a[0] * Math.cos(angle) + (this.isZonal ? 0 : a[1] * Math.sin(angle)) + b; }

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

  // Tint where each neuron is active, and hatch where none is.
  drawActive(pen, place) {
    if (!this.app.options.neurons || !this.land) return;
    clipTo(pen, place);
    const { left, right, top, bottom, valueAt } = place, { neurons } = this.land;
    const fillWhere = (holds) => {
      for (let x = Math.floor(left); x < right; x++) if (holds(valueAt(x + 0.5))) pen.fillRect(x, top, 1, bottom - top);
    };
    neurons.forEach((neuron, index) => {
      pen.globalAlpha = Math.min(0.16, 0.64 / neurons.length);
      pen.fillStyle = colourOfNeuron(index, neurons.length);
      fillWhere((angle) => this.sumAt(neuron, angle) > 0);
    });
    pen.globalAlpha = 1;
    pen.fillStyle = hatch(pen);
    if (neurons.length) fillWhere((angle) => neurons.every((neuron) => this.sumAt(neuron, angle) <= 0));
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

  drawMap(pen, { left, right, top, bottom, valueAt }) {
    const wide = Math.min(220, 0.4 * (right - left)), { exhibit, scale } = this;
    drawBar(pen, { x: right - wide, y: 4, wide }, scale, COLOURS, this.words.density);
    const key = [scale.low, scale.high, scale.isLog, left, right, valueAt(left), valueAt(right)].join();
    if (this.mapKey !== key) {
      const states = Array.from({ length: Math.round(right - left) }, (_, i) => exhibit.stateAt(valueAt(left + i + 0.5)));
      Object.assign(this, { mapKey: key, mapImage: this.imageOf(states) });
    }
    pen.drawImage(this.mapImage, left, top, right - left, bottom - top);
  }

  // A picture with a column for each of some states, angles upwards.
  imageOf(states) {
    const shown = new Map(states.map((k) => [k, this.columnOf(k)]));
    const width = states.length, height = shown.get(states[0]).length;
    const canvas = Object.assign(node("canvas"), { width, height }), pen = canvas.getContext("2d"), image = pen.createImageData(width, height);
    states.forEach((k, x) => shown.get(k).forEach((byte, y) => {
      image.data.set([...COLOURS.subarray(3 * byte, 3 * byte + 3), 255], 4 * (y * width + x));
    }));
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  // Colours of a state: of blocks of its cells the largest, so that a peak of one cell is seen.
  columnOf(k) {
    const { rows, values } = this.exhibit.densityAt(k), size = Math.ceil(rows / 160);
    const blocks = Array.from({ length: Math.ceil(rows / size) }, (_, i) => Math.max(...values.slice(i * size, (i + 1) * size)));
    return blocks.map((value) => byteOf(this.scale.at(value))).reverse();
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
