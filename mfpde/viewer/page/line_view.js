// A run on the circle as ring, curve and map of time and angle; a zonal one as curve and map.

const BINS = 128;

class LineView {
  constructor(box, exhibit, app) {
    Object.assign(this, { box, exhibit, app });
    this.isZonal = exhibit.domain === "zonal";
    this.span = this.isZonal ? Math.PI : TURN;
    box.className = `stage line ${this.isZonal ? "zonal" : "circle"}`;
    const told = {
      ring: "Ring: the density drawn outwards from the circle",
      curve: `Density ${this.isZonal ? "per polar angle" : "per radian"} against the angle, and the landscape V below`,
      map: "Map of the density: time to the right, angle upwards; click to go to a time",
    };
    for (const name of this.isZonal ? ["curve", "map"] : ["ring", "curve", "map"]) {
      this[name] = document.createElement("canvas");
      this[name].className = name;
      this[name].setAttribute("role", "img");
      this[name].setAttribute("aria-label", `${told[name]} (${exhibit.name})`);
      box.append(this[name]);
    }
    if (this.ring) readOut(this.ring, (x, y) => this.toldAt(Math.atan2(this.ring.clientHeight / 2 - y, x - this.ring.clientWidth / 2)));
    readOut(this.curve, (x) => this.toldOfCurve(x));
    readOut(this.map, (x, y) => this.toldOfMap(x, y));
    this.clock = timeScale(exhibit.times);
    this.map.addEventListener("click", (event) => {
      const { left, width } = this.mapBox ?? { left: 0, width: 1 };
      app.goToTime(this.clock.inverse((event.offsetX - left) / width));
    });
  }

  // Angles and values of the density at a state: of particles, shares of the mass in bins.
  curveAt(k) {
    const { exhibit } = this, grid = exhibit.gridAt(k);
    if (grid) {
      const codes = exhibit.codesAt(k), values = new Float32Array(grid.n);
      for (let i = 0; i < grid.n; i++) values[i] = exhibit.table[codes[i]];
      return { first: grid.first, step: grid.step, values };
    }
    const values = new Float32Array(BINS), step = this.span / BINS;
    for (const { place, mass } of exhibit.atomsAt(k)) {
      const share = (((place[0] / this.span) % 1) + 1) % 1;
      values[Math.min(BINS - 1, Math.floor(share * BINS))] += mass / step;
    }
    return { first: step / 2, step, values, isBinned: true };
  }

  at(curve, angle) {
    const n = curve.values.length, place = (angle - curve.first) / curve.step, low = Math.floor(place), u = place - low;
    const get = (i) => curve.values[this.isZonal ? Math.max(0, Math.min(n - 1, i)) : ((i % n) + n) % n];
    return (1 - u) * get(low) + u * get(low + 1);
  }

  // Angle, density and landscape, as they are at a state.
  toldAt(angle, k = this.shown) {
    const { field } = this.exhibit.landscapeAt(this.exhibit.times[k]) ?? {}, turned = ((angle % TURN) + TURN) % TURN;
    const words = [`θ = ${inPi(turned)}`, `${this.isZonal ? "n" : "ρ"} = ${short(this.at(this.curveAt(k), turned), 4)}`];
    if (field) words.push(`${field.name} = ${short(field.numbers[Math.round(((field.n - 1) * turned) / this.span)], 4)}`);
    return words.join(" · ");
  }

  toldOfCurve(x) {
    const share = (x - 52) / (this.curve.clientWidth - 64);
    return share < 0 || share > 1 ? "" : this.toldAt(0.999999 * share * this.span);
  }

  toldOfMap(x, y) {
    const { left, width, top, height } = this.mapBox, share = (x - left) / width, up = 1 - (y - top) / height;
    if (Math.min(share, up) < 0 || Math.max(share, up) > 1) return "";
    const k = this.exhibit.stateAt(this.clock.inverse(share));
    return `t = ${short(this.exhibit.times[k], 6)} · ${this.toldAt(0.999999 * up * this.span, k)}`;
  }

  // Largest value between two angles, so that a peak of one cell is seen.
  peak(curve, from, to) {
    const n = curve.values.length;
    const low = Math.ceil((from - curve.first) / curve.step), high = Math.floor((to - curve.first) / curve.step);
    let found = Math.max(this.at(curve, from), this.at(curve, to));
    for (let i = low; i <= high; i++) found = Math.max(found, curve.values[((i % n) + n) % n]);
    return found;
  }

  draw(k, scale) {
    this.shown = k;
    if (!this.curve.clientWidth) return;
    const curve = this.curveAt(k), land = this.exhibit.landscapeAt(this.exhibit.times[k]);
    // Curves go deeper than colours, as in the figures.
    const axis = new Scale(scale.isLog ? Math.min(scale.low, 1e-5 * scale.high) : 0, scale.isLog ? 2 * scale.high : 1.08 * scale.high, scale.isLog);
    if (this.ring) this.drawRing(k, curve, axis, scale, land);
    this.drawCurve(k, curve, axis, land);
    this.drawMap(k, scale);
  }

  drawRing(k, curve, axis, scale, land) {
    const { pen, width, height } = prepared(this.ring), x = width / 2, y = height / 2;
    const radius = 0.27 * Math.min(width, height), room = 0.47 * Math.min(width, height) - radius;
    const at = (angle, r) => [x + r * Math.cos(angle), y - r * Math.sin(angle)];
    if (this.app.options.neurons && land) {
      const count = land.neurons.length;
      const opacity = count <= 4 ? 0.16 : Math.min(0.16, 0.4 / count);
      land.neurons.forEach((neuron, index) => {
        for (const [from, to] of this.activeSpans(neuron)) {
          pen.beginPath(); pen.moveTo(x, y); pen.arc(x, y, radius - 6, -to, -from); pen.closePath();
          pen.globalAlpha = opacity; pen.fillStyle = colourOfNeuron(index, count); pen.fill(); pen.globalAlpha = 1;
        }
      });
      if (this.deadSpans(land).length) {
        pen.fillStyle = hatch(pen);
        for (const [from, to] of this.deadSpans(land)) { pen.beginPath(); pen.moveTo(x, y); pen.arc(x, y, radius - 6, -to, -from); pen.closePath(); pen.fill(); }
      }
      land.neurons.forEach((neuron, index) => {
        const angle = Math.atan2(neuron.a[1], neuron.a[0]), [px, py] = at(angle, radius - 18);
        pen.strokeStyle = colourOfNeuron(index, count); pen.lineWidth = 1.4;
        pen.beginPath(); pen.moveTo(x, y); pen.lineTo(px, py); pen.stroke();
        triangle(pen, px, py, 5, neuron.w, colourOfNeuron(index, count));
        if (count <= NEURONS.length) { const [tx, ty] = at(angle, radius - 36); pen.textAlign = "center"; pen.font = "italic " + FONT; haloed(pen, `a${"₁₂₃₄₅₆"[index]}`, tx + 8, ty + 4); pen.font = SMALL; }
      });
    }
    const steps = 720, outline = [];
    for (let i = 0; i < steps; i++) {
      const from = (TURN * i) / steps, to = (TURN * (i + 1)) / steps, value = this.peak(curve, from, to);
      outline.push(at((from + to) / 2, radius + 5 + room * Math.max(0, Math.min(1, axis.at(value)))));
      const c = 3 * Math.round(255 * Math.max(0, Math.min(1, scale.at(value))));
      pen.strokeStyle = `rgb(${COLOURS[c]},${COLOURS[c + 1]},${COLOURS[c + 2]})`; pen.lineWidth = 8;
      pen.beginPath(); pen.arc(x, y, radius, -to - 0.003, -from + 0.003); pen.stroke();
    }
    pen.beginPath();
    outline.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)));
    pen.closePath();
    pen.arc(x, y, radius + 4, 0, TURN, true);
    pen.fillStyle = "rgba(0,114,178,0.13)"; pen.fill("evenodd");
    pen.beginPath();
    outline.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)));
    pen.closePath(); pen.strokeStyle = DENSITY; pen.lineWidth = 1.3; pen.stroke();
    for (const r of [radius - 4, radius + 4]) { pen.beginPath(); pen.arc(x, y, r, 0, TURN); pen.strokeStyle = "rgba(60,70,85,0.5)"; pen.lineWidth = 0.7; pen.stroke(); }
    pen.fillStyle = MUTED;
    for (const [angle, text, align, dx, dy] of [[0, "0", "left", 4, 4], [Math.PI / 2, "π/2", "center", 0, -4], [Math.PI, "π", "right", -4, 4], [1.5 * Math.PI, "3π/2", "center", 0, 12]]) {
      const [px, py] = at(angle, radius + room + 1);
      pen.textAlign = align;
      pen.fillText(text, Math.max(12, Math.min(width - 12, px + dx)), Math.max(10, Math.min(height - 3, py + dy)));
    }
    const own = this.exhibit.atomsAt(k);
    if (this.exhibit.frames.atoms.crowd) {
      pen.fillStyle = "rgba(28,36,48,0.35)";
      for (const { place } of own) { const [px, py] = at(place[0], radius - 8); pen.fillRect(px - 1, py - 1, 2, 2); }
    }
    if (!this.app.options.atoms) return;
    for (const atom of markedAtoms(this.exhibit, k)) {
      const [px, py] = at(atom.place[0], radius);
      drawAtom(pen, px, py, atom, 0.8, false);
    }
  }

  // Spans of angle in [0, span] where a neuron is active.
  activeSpans(neuron) {
    if (this.isZonal) {
      const border = Math.acos(Math.max(-1, Math.min(1, -neuron.b / neuron.a[0])));
      const [low, high] = neuron.a[0] > 0 ? [0, border] : [border, Math.PI];
      return high > low ? [[low, high]] : [];
    }
    const length = Math.hypot(...neuron.a);
    if (neuron.b > length) return [[0, TURN]];
    if (neuron.b <= -length) return [];
    const half = Math.acos(-neuron.b / length), middle = (Math.atan2(neuron.a[1], neuron.a[0]) + TURN) % TURN;
    const low = middle - half, high = middle + half;
    if (low < 0) return [[0, high], [low + TURN, TURN]];
    return high > TURN ? [[0, high - TURN], [low, TURN]] : [[low, high]];
  }

  // Spans where no neuron is active.
  deadSpans(land) {
    if (!land.neurons.length) return [];
    const all = land.neurons.flatMap((n) => this.activeSpans(n)).sort((a, b) => a[0] - b[0]), dead = [];
    let reached = 0;
    for (const [low, high] of all) { if (low > reached + 1e-9) dead.push([reached, low]); reached = Math.max(reached, high); }
    if (reached < this.span - 1e-9) dead.push([reached, this.span]);
    return dead;
  }

  ticks() {
    return this.isZonal
      ? [[0, "0"], [Math.PI / 4, "π/4"], [Math.PI / 2, "π/2"], [(3 * Math.PI) / 4, "3π/4"], [Math.PI, "π"]]
      : [[0, "0"], [Math.PI / 2, "π/2"], [Math.PI, "π"], [1.5 * Math.PI, "3π/2"], [TURN, "2π"]];
  }

  drawCurve(k, curve, axis, land) {
    const { pen, width, height } = prepared(this.curve), { exhibit, app } = this;
    const left = 52, right = width - 12, top = 22, hasLand = land && (land.field || land.neurons.length);
    const bottom = hasLand ? Math.round(0.66 * height) - 8 : height - 36, x = (angle) => left + ((right - left) * angle) / this.span;
    const y = (value) => bottom - (bottom - top) * Math.max(0, Math.min(1, axis.at(value)));
    pen.textAlign = "left"; pen.fillStyle = INK;
    const name = this.isZonal ? "mass per polar angle, n(θ), per radian" : "density ρ(θ), per radian";
    pen.fillText(curve.isBinned ? `${name} (particles in ${BINS} bins)` : name, left - 40, 12);
    frameOf(pen, { left, right, top, bottom }, axis, 5);
    if (app.options.neurons && land) {
      pen.strokeStyle = "rgba(60,70,85,0.35)"; pen.lineWidth = 0.7; pen.setLineDash([3, 3]);
      for (const n of land.neurons) for (const span of this.activeSpans(n)) for (const angle of span) {
        if (angle > 1e-9 && angle < this.span - 1e-9) { pen.beginPath(); pen.moveTo(x(angle), top); pen.lineTo(x(angle), bottom); pen.stroke(); }
      }
      pen.setLineDash([]);
    }
    pen.beginPath();
    pen.moveTo(left, bottom);
    const outline = [];
    for (let px = left; px <= right; px++) {
      const from = (this.span * (px - 0.5 - left)) / (right - left), to = (this.span * (px + 0.5 - left)) / (right - left);
      outline.push([px, y(this.peak(curve, from, to))]);
    }
    for (const p of outline) pen.lineTo(...p);
    pen.lineTo(right, bottom); pen.closePath();
    pen.fillStyle = "rgba(0,114,178,0.13)"; pen.fill();
    pen.beginPath();
    outline.forEach((p, i) => (i ? pen.lineTo(...p) : pen.moveTo(...p)));
    pen.strokeStyle = DENSITY; pen.lineWidth = 1.5; pen.stroke();
    if (app.options.atoms) this.drawAtoms(pen, k, { x, top, bottom, heightOf: (angle) => y(this.at(curve, angle)) });
    const angles = (base) => {
      pen.fillStyle = INK; pen.textAlign = "center"; pen.strokeStyle = MUTED; pen.lineWidth = 0.7;
      for (const [angle, text] of this.ticks()) { pen.beginPath(); pen.moveTo(x(angle), base); pen.lineTo(x(angle), base + 4); pen.stroke(); pen.fillText(text, x(angle), base + 16); }
      pen.fillText(this.isZonal ? "polar angle θ" : "angle θ", (left + right) / 2, base + 30);
    };
    if (!hasLand) { angles(bottom); return; }
    this.drawLandscape(pen, land, { left, right, top: bottom + 26, bottom: height - 36 }, x);
    angles(height - 36);
  }

  // Atoms that the state carries as stems, as high as their mass (the whole height is 1).
  drawAtoms(pen, k, { x, top, bottom, heightOf }) {
    const { exhibit } = this, angleOf = (atom) => ((atom.place[0] % TURN) + TURN) % TURN;
    const own = exhibit.frames.atoms.crowd ? [] : exhibit.atomsAt(k), topOf = (atom) => bottom - (bottom - top) * Math.min(1, atom.mass);
    for (const atom of own) {
      pen.strokeStyle = ATOM; pen.lineWidth = 1.6;
      pen.beginPath(); pen.moveTo(x(angleOf(atom)), bottom); pen.lineTo(x(angleOf(atom)), topOf(atom)); pen.stroke();
    }
    if (own.length) { pen.fillStyle = ATOM; pen.textAlign = "right"; pen.fillText("stems: atoms, full height = mass 1", x(this.span), top - 10); }
    for (const atom of markedAtoms(exhibit, k)) {
      const angle = angleOf(atom), stem = own.find((o) => Math.abs(Math.sin((angleOf(o) - angle) / 2)) < 1e-3);
      drawAtom(pen, x(angle), Math.max(top + 8, stem ? topOf(stem) : heightOf(angle)), atom, 0.55, true);
    }
  }

  drawLandscape(pen, land, box, x) {
    const count = land.neurons.length, opacity = count <= 4 ? 0.16 : Math.min(0.16, 0.4 / count);
    if (this.app.options.neurons) {
      land.neurons.forEach((neuron, index) => {
        pen.globalAlpha = opacity; pen.fillStyle = colourOfNeuron(index, count);
        for (const [from, to] of this.activeSpans(neuron)) pen.fillRect(x(from), box.top, x(to) - x(from), box.bottom - box.top);
        pen.globalAlpha = 1;
      });
      for (const [from, to] of this.deadSpans(land)) {
        pen.fillStyle = hatch(pen); pen.fillRect(x(from), box.top, x(to) - x(from), box.bottom - box.top);
        if (x(to) - x(from) > 96) { pen.textAlign = "center"; haloed(pen, "no neuron active", (x(from) + x(to)) / 2, box.bottom - 6, MUTED); }
      }
    }
    const { field } = land;
    let low = -1, high = 1;
    if (field) { const reach = field.high - field.low || 1; low = field.low - 0.12 * reach; high = field.high + 0.12 * reach; }
    const axis = new Scale(low, high), y = (v) => box.bottom - (box.bottom - box.top) * axis.at(v);
    pen.fillStyle = INK; pen.textAlign = "left";
    pen.fillText(field?.name === "drift" ? "drift along θ of the neurons (no potential)" : "landscape V(θ); tinted: neuron active", box.left - 40, box.top - 8);
    frameOf(pen, box, field ? axis : null, 3);
    if (field) {
      if (low < 0 && high > 0) { pen.strokeStyle = "rgba(60,70,85,0.5)"; pen.lineWidth = 0.6; pen.setLineDash([2, 3]); pen.beginPath(); pen.moveTo(box.left, y(0)); pen.lineTo(box.right, y(0)); pen.stroke(); pen.setLineDash([]); }
      pen.beginPath();
      for (let i = 0; i < field.n; i++) { const px = box.left + ((box.right - box.left) * i) / (field.n - 1); if (i) pen.lineTo(px, y(field.numbers[i])); else pen.moveTo(px, y(field.numbers[i])); }
      pen.strokeStyle = INK; pen.lineWidth = 1.3; pen.stroke();
    }
    if (!this.app.options.neurons) return;
    land.neurons.forEach((neuron, index) => {
      const angle = this.isZonal ? (neuron.a[0] > 0 ? 0 : Math.PI) : (Math.atan2(neuron.a[1], neuron.a[0]) + TURN) % TURN;
      triangle(pen, x(angle), box.top, 5, neuron.w, colourOfNeuron(index, count));
      if (count <= NEURONS.length) { pen.font = "italic " + FONT; const isAtEdge = x(angle) + 24 > box.right; pen.textAlign = isAtEdge ? "right" : "left"; haloed(pen, `a${"₁₂₃₄₅₆"[index]}`, x(angle) + (isAtEdge ? -7 : 7), box.top + 13); pen.font = SMALL; }
    });
  }

  drawMap(k, scale) {
    const { pen, width, height } = prepared(this.map), { exhibit, app } = this;
    const box = { left: 52, right: width - 62, top: 14, bottom: height - 34 };
    this.mapBox = { left: box.left, width: box.right - box.left, top: box.top, height: box.bottom - box.top };
    drawColumn(pen, { ...this.mapBox, left: box.right + 12 }, scale, this.isZonal ? "n" : "ρ");
    const image = this.imageOfMap(Math.max(1, Math.round(box.right - box.left)), Math.max(1, Math.round(box.bottom - box.top)), scale);
    pen.drawImage(image, box.left, box.top, box.right - box.left, box.bottom - box.top);
    const x = (t) => box.left + (box.right - box.left) * Math.max(0, Math.min(1, this.clock.at(t)));
    const y = (angle) => box.bottom - ((box.bottom - box.top) * angle) / this.span;
    if (app.options.paths && exhibit.track) this.drawPaths(pen, box, x, y);
    for (const time of exhibit.breakpoints.slice(1, -1)) { pen.strokeStyle = "rgba(60,70,85,0.35)"; pen.lineWidth = 0.6; pen.beginPath(); pen.moveTo(x(time), box.top); pen.lineTo(x(time), box.bottom); pen.stroke(); }
    pen.strokeStyle = MUTED; pen.lineWidth = 0.7; pen.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    pen.fillStyle = INK; pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const [angle, text] of this.ticks().filter((_, i) => height > 140 || i % 2 === 0)) pen.fillText(text, box.left - 6, y(angle));
    pen.save(); pen.translate(11, (box.top + box.bottom) / 2); pen.rotate(-Math.PI / 2); pen.textAlign = "center"; pen.fillText(this.isZonal ? "polar angle θ" : "angle θ", 0, 0); pen.restore();
    pen.textBaseline = "alphabetic"; pen.textAlign = "center";
    for (const t of this.clock.ticks(8)) pen.fillText(short(t), x(t), box.bottom + 14);
    pen.fillText("time t", (box.left + box.right) / 2, box.bottom + 28);
    const now = x(exhibit.times[k]);
    pen.beginPath(); pen.moveTo(now, box.top - 4); pen.lineTo(now, box.bottom + 4); pen.lineWidth = 3; pen.strokeStyle = "#fff"; pen.stroke();
    pen.lineWidth = 1.4; pen.strokeStyle = INK; pen.stroke();
  }

  // The map as a picture, made anew only when its size or scale change.
  imageOfMap(width, height, scale) {
    const key = [width, height, scale.low, scale.high, scale.isLog].join();
    if (this.mapKey === key) return this.mapImage;
    this.mapKey = key;
    const canvas = (this.mapImage ??= document.createElement("canvas"));
    canvas.width = width; canvas.height = height;
    const pen = canvas.getContext("2d"), image = pen.createImageData(width, height), rows = Math.min(height, 512);
    const columns = new Map();
    for (let px = 0; px < width; px++) {
      const k = this.exhibit.stateAt(this.clock.inverse((px + 0.5) / width));
      if (!columns.has(k)) {
        const curve = this.curveAt(k), column = new Uint8Array(rows);
        for (let r = 0; r < rows; r++) {
          const value = this.peak(curve, (this.span * r) / rows, (this.span * (r + 1)) / rows);
          column[r] = Math.round(255 * Math.max(0, Math.min(1, scale.at(value))));
        }
        columns.set(k, column);
      }
      const column = columns.get(k);
      for (let py = 0; py < height; py++) {
        const c = 3 * column[Math.floor((rows * (height - 1 - py)) / height)], at = 4 * (py * width + px);
        image.data[at] = COLOURS[c]; image.data[at + 1] = COLOURS[c + 1]; image.data[at + 2] = COLOURS[c + 2]; image.data[at + 3] = 255;
      }
    }
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  drawPaths(pen, box, x, y) {
    pen.save();
    pen.beginPath(); pen.rect(box.left, box.top, box.right - box.left, box.bottom - box.top); pen.clip();
    for (const path of this.exhibit.track.paths) {
      let before = null, turns = 0;
      const angles = path.places.map(([a]) => {
        const plain = this.isZonal ? a : ((a % TURN) + TURN) % TURN;
        if (before !== null && !this.isZonal) turns += plain - before > Math.PI ? -1 : plain - before < -Math.PI ? 1 : 0;
        before = plain;
        return plain + TURN * turns;
      });
      const copies = this.isZonal ? [0] : [...new Set(angles.map((a) => Math.floor(a / TURN)))];
      for (const [colour, extra] of [["rgba(255,255,255,0.85)", 1.6], [ATOM, 0]]) {
        for (const copy of copies) {
          pen.beginPath();
          path.times.forEach((t, i) => (i ? pen.lineTo(x(t), y(angles[i] - TURN * copy)) : pen.moveTo(x(t), y(angles[i] - TURN * copy))));
          pen.strokeStyle = colour; pen.lineWidth = 0.8 + 1.8 * Math.max(...path.masses) + extra; pen.stroke();
        }
      }
    }
    pen.restore();
    for (const junction of this.exhibit.track.junctions) mark(pen, junction.kind, x(junction.time), y(((junction.place[0] % TURN) + TURN) % TURN));
  }
}

// Marks of births, merges, fissions and deaths, as in the figures.
function mark(pen, kind, x, y, size = 3.4) {
  pen.beginPath();
  if (kind === "birth") pen.arc(x, y, size * 0.85, 0, TURN);
  else if (kind === "merge") { pen.moveTo(x, y - size - 1); pen.lineTo(x + size + 1, y); pen.lineTo(x, y + size + 1); pen.lineTo(x - size - 1, y); pen.closePath(); }
  else if (kind === "fission") pen.rect(x - size, y - size, 2 * size, 2 * size);
  else { pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size); pen.moveTo(x + size, y - size); pen.lineTo(x - size, y + size); }
  pen.fillStyle = kind === "birth" ? "#fff" : ATOM;
  if (kind !== "death") pen.fill();
  pen.strokeStyle = kind === "death" ? ATOM : INK; pen.lineWidth = kind === "death" ? 2 : 0.8; pen.stroke();
}

// Left and lower edge of axes, with ticks and a faint line for each value.
function frameOf(pen, box, axis, wanted) {
  pen.lineWidth = 0.7;
  if (axis) {
    pen.textAlign = "right"; pen.textBaseline = "middle"; pen.fillStyle = INK;
    for (const tick of axis.ticks(wanted)) {
      const y = box.bottom - (box.bottom - box.top) * axis.at(tick);
      pen.strokeStyle = "#eceff3"; pen.beginPath(); pen.moveTo(box.left, y); pen.lineTo(box.right, y); pen.stroke();
      pen.fillText(short(tick), box.left - 5, y);
    }
    pen.textBaseline = "alphabetic";
  }
  pen.strokeStyle = MUTED;
  pen.beginPath(); pen.moveTo(box.left, box.top); pen.lineTo(box.left, box.bottom); pen.lineTo(box.right, box.bottom); pen.stroke();
}
