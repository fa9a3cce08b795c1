// A run on the sphere: the globe, its other side beside it, and what is drawn over both.

class GlobeView {
  constructor(box, exhibit, app) {
    Object.assign(this, { exhibit, app });
    box.className = "stage globe";
    this.ground = node("canvas");
    this.over = Object.assign(node("canvas", "over"), { tabIndex: 0, role: "img" });
    this.over.setAttribute("aria-label", `Globe of ${exhibit.name}: drag, or shift and arrows, to turn`);
    box.append(this.ground, this.over);
    try { this.globe = new Globe(this.ground); } catch (error) { this.problem = error.message; }
    this.listen();
    readOut(this.over, (x, y) => this.wordsAt(x, y));
  }

  // Place and density at the pointer, on either globe.
  wordsAt(x, y) {
    for (const { x: middle, y: height, radius, frame: [right, up, near] } of this.globes) {
      const a = (x - middle) / radius, b = (height - y) / radius, rest = 1 - a * a - b * b;
      if (rest < 0) continue;
      const p = sum([a, right], [b, up], [Math.sqrt(rest), near]);
      const theta = Math.acos(clamp(p[2], -1, 1)), phi = turned(Math.atan2(p[1], p[0]));
      const words = `θ = ${inPi(theta)} · φ = ${inPi(phi)}`, density = this.exhibit.densityAt(this.k);
      if (!density) return words;
      const { rows, columns, first, step, longitude, values } = density;
      const row = clamp(Math.round((theta - first) / step), 0, rows - 1);
      const column = Math.round((columns * turned(phi - longitude)) / TURN) % columns;
      return `${words} · ρ = ${short(values[row * columns + column], 4)}`;
    }
    return "";
  }

  listen() {
    const { over, app } = this;
    const held = new Map(), reach = () => Math.hypot(...[0, 1].map((i) => [...held.values()].reduce((a, p) => p[i] - a, 0)));
    over.addEventListener("pointerdown", ({ pointerId, offsetX, offsetY }) => {
      over.setPointerCapture(pointerId);
      held.set(pointerId, [offsetX, offsetY]);
    });
    over.addEventListener("pointermove", ({ pointerId, offsetX, offsetY, movementX: right, movementY: down }) => {
      if (!held.has(pointerId)) return;
      const before = reach();
      held.set(pointerId, [offsetX, offsetY]);
      // Two pointers are a pinch.
      if (held.size === 2) app.zoom(reach() / before || 1);
      else app.turn(-right / this.globes[0].radius, down / this.globes[0].radius);
    });
    over.addEventListener("lostpointercapture", ({ pointerId }) => held.delete(pointerId));
    over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      app.zoom(Math.exp(-event.deltaY / 300));
    }, { passive: false });
  }

  // The globe, and where there is room for it the other side.
  layout(width, height) {
    const { camera } = this.app, radius = 0.47 * Math.min(width, height - 30), wide = width - 2 * radius;
    const globes = [{ isBack: false, x: width / 2, y: (height - 26) / 2, radius: radius * camera.zoom }];
    if (wide > 0.62 * radius && camera.zoom <= 1.001) {
      const small = Math.min(0.36 * radius, 0.33 * wide), rest = wide - 2 * small;
      // Room for the legend at the left, where there is some.
      globes[0].x = radius + Math.max(6, Math.min(rest - 14, Math.max(145, rest / 2.6)));
      globes.push({ isBack: true, x: width - small - 4, y: small + 20, radius: small });
    }
    return globes.map((g) => ({ ...g, frame: camera.frame(g.isBack) }));
  }

  draw(k, scale) {
    const { exhibit, app, globe } = this, { pen, width, height } = prepared(this.over);
    if (!width) return;
    this.k = k;
    this.globes = this.layout(width, height);
    const land = exhibit.landscapeAt(exhibit.times[k]), isField = app.options.ground && land?.field;
    if (globe) this.drawGround(k, scale, land);
    else write(pen, this.problem, 10, 20);
    for (const g of this.globes) this.drawOver(pen, g, k, land);
    if (this.globes.length > 1) {
      const { x, y, radius } = this.globes[1];
      write(pen, "other side", x, y - radius - 9, { colour: MUTED, align: "center" });
    }
    const wide = Math.min(300, 0.45 * width), place = { x: (width - wide) / 2 + 70, y: height - 26, wide };
    if (isField) drawBar(pen, place, new Scale(-reachOf(land.field), reachOf(land.field)), POTENTIAL, "landscape V");
    else if (exhibit.frames.grid) drawBar(pen, place, scale, COLOURS, LABELS.sphere.density);
    this.drawLegend(pen, land, exhibit.markedAt(k));
  }

  drawGround(k, scale, land) {
    const { globe, app } = this, key = [k, scale.low, scale.high, scale.isLog].join();
    if (key !== this.shown) globe.setDensity(this.exhibit.frames.grid, this.exhibit.bytesAt(k, scale));
    if (land !== this.land) globe.setLandscape(land);
    Object.assign(this, { shown: key, land });
    globe.draw(this.globes, app.options);
  }

  drawOver(pen, { x, y, radius, isBack, frame: [right, up, near] }, k, land) {
    const { exhibit, app } = this, { options } = app, share = isBack ? 0.55 : 1;
    const seen = (p) => [x + radius * dot(right, p), y - radius * dot(up, p), dot(near, p)];
    const areSeen = (p, q) => p[2] > 0 && q[2] > 0;
    const line = (points, colour, wide, isHaloed) => polyline(pen, points.map(seen), colour, wide, isHaloed, areSeen);
    for (const points of GRATICULE) line(points, "rgba(60,70,85,0.16)", 0.8);
    circle(pen, x, y, radius); stroke(pen, THIN, 1);
    if (options.neurons && land) this.drawNeurons(pen, seen, line, land.neurons, isBack);
    for (const path of (options.paths && exhibit.track?.paths) || []) {
      line(pathUntil(path, exhibit.times[k]), ATOM, share * (0.9 + 2.4 * path.mass), true);
    }
    const { counts, areParticles } = exhibit.frames.atoms, size = 2.6 * share;
    if (areParticles) {
      pen.fillStyle = `rgba(0,114,178,${clamp(400 / counts[k], 0.25, 0.8)})`;
      for (const [px, py, pz] of exhibit.atomsAt(k).map(({ place }) => seen(place))) {
        if (pz > 0) pen.fillRect(px - size / 2, py - size / 2, size, size);
      }
    }
    const found = options.atoms ? exhibit.markedAt(k) : [];
    for (const atom of found) {
      const [px, py, pz] = seen(atom.place);
      if (pz > 0) drawAtom(pen, px, py, atom, share * (radius / 240), !isBack && found.length <= 12);
    }
  }

  drawNeurons(pen, seen, line, neurons, isBack) {
    neurons.forEach((neuron, index) => {
      neuron.circle ??= circleOfNeuron(neuron);
      line(neuron.circle, colourOfNeuron(index, neurons.length), isBack ? 1.1 : 1.8, true);
    });
    neurons.forEach((neuron, index) => {
      const [x, y, z] = seen(unit(neuron.a));
      if (z > 0) drawDirection(pen, x, y, neuron, index, neurons.length, { isSmall: isBack });
    });
  }

  drawLegend(pen, land, atoms) {
    const { options } = this.app, neurons = (options.neurons && land?.neurons) || [], ring = (y, dashes) => {
      pen.setLineDash(dashes); circle(pen, 10, y, 5); stroke(pen, ATOM, 1.8); pen.setLineDash([]);
    };
    const entries = [
      [neurons.length, "a·x + b = 0", (y) => polyline(pen, [[2, y], [18, y]], MUTED, 1.8)],
      [neurons.some(({ w }) => w > 0), "w > 0", (y) => shape(pen, "up", 10, y, 4.5, "#fff")],
      [neurons.some(({ w }) => w !== null && w <= 0), "w < 0", (y) => shape(pen, "down", 10, y, 4.5, "#fff")],
      [neurons.length && land.zone, "no neuron active", (y) => { pen.fillStyle = hatch(pen); pen.fillRect(2, y - 6, 16, 12); }],
      [options.atoms && atoms.length, "atom (area ∝ mass)", (y) => ring(y, [])],
      [options.atoms && atoms.some(isOnItsWay), "basin, with what is on its way (+)", (y) => ring(y, [2, 3])],
    ];
    entries.filter(([isShown]) => isShown).forEach(([, text, drawMark], i) => {
      drawMark(12 + 17 * i);
      write(pen, text, 24, 12 + 17 * i, { colour: MUTED, isHaloed: true });
    });
  }
}
