// A run on the sphere: the globe, its other side beside it, and what is drawn over both.

class GlobeView {
  constructor(box, exhibit, app) {
    Object.assign(this, { box, exhibit, app });
    box.className = "stage globe";
    this.ground = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.over.className = "over";
    this.over.tabIndex = 0;
    this.over.setAttribute("role", "img");
    this.over.setAttribute("aria-label", `Globe of ${exhibit.name}: drag, or shift and arrows, to turn`);
    box.append(this.ground, this.over);
    try { this.globe = new Globe(this.ground); } catch (error) { this.problem = error.message; }
    this.listen();
    readOut(this.over, (x, y) => this.toldAt(x, y));
  }

  // Place and density at the pointer, on either globe.
  toldAt(x, y) {
    const grid = this.exhibit.gridAt(this.k);
    for (const { x: middle, y: height, radius, frame: [right, up, near] } of this.layout(this.over.clientWidth, this.over.clientHeight)) {
      const [a, b] = [(x - middle) / radius, (height - y) / radius], rest = 1 - a * a - b * b;
      if (rest < 0) continue;
      const p = [0, 1, 2].map((i) => a * right[i] + b * up[i] + Math.sqrt(rest) * near[i]);
      const theta = Math.acos(Math.max(-1, Math.min(1, p[2]))), phi = (Math.atan2(p[1], p[0]) + TURN) % TURN;
      const words = `θ = ${inPi(theta)} · φ = ${inPi(phi)}`;
      if (!grid) return words;
      const step = (grid.colatitudes[grid.rows - 1] - grid.colatitudes[0]) / (grid.rows - 1);
      const row = Math.max(0, Math.min(grid.rows - 1, Math.round((theta - grid.colatitudes[0]) / step)));
      const column = Math.round((grid.columns * (phi - grid.first)) / TURN + grid.columns) % grid.columns;
      return `${words} · ρ = ${short(this.exhibit.table[this.exhibit.codesAt(this.k)[row * grid.columns + column]], 4)}`;
    }
    return "";
  }

  listen() {
    const pointers = new Map(), { over, app } = this;
    let apart = 0;
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      apart = 0;
    });
    over.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = [event.clientX, event.clientY];
      pointers.set(event.pointerId, now);
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()], distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (apart) app.zoom(distance / apart);
        apart = distance;
      } else {
        app.camera.turn(-(now[0] - before[0]) / this.radius, (now[1] - before[1]) / this.radius);
      }
      app.invalidate();
    });
    for (const name of ["pointerup", "pointercancel"]) over.addEventListener(name, (event) => { pointers.delete(event.pointerId); apart = 0; });
    over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      app.zoom(Math.exp(-event.deltaY / 300));
    }, { passive: false });
  }

  // The globe, and where there is room for it the other side.
  layout(width, height) {
    const radius = 0.47 * Math.min(width, height - 30), wide = width - 2 * radius;
    const globes = [{ isBack: false, x: width / 2, y: (height - 26) / 2, radius: radius * this.app.camera.zoom }];
    if (wide > 0.62 * radius && this.app.camera.zoom <= 1.001) {
      const small = Math.min(0.36 * radius, 0.33 * wide);
      // Room for the legend at the left, where there is some.
      globes[0].x = radius + Math.max(6, Math.min(wide - 2 * small - 14, Math.max(145, (wide - 2 * small) / 2.6)));
      globes.push({ isBack: true, x: width - small - 4, y: small + 20, radius: small });
    }
    for (const g of globes) g.frame = this.app.camera.frame(g.isBack);
    this.radius = globes[0].radius;
    return globes;
  }

  draw(k, scale) {
    const { exhibit, app, globe } = this, { pen, width, height } = prepared(this.over);
    this.k = k;
    if (!width) return;
    const globes = this.layout(width, height), land = exhibit.landscapeAt(exhibit.times[k]);
    if (globe) {
      const key = [k, scale.low, scale.high, scale.isLog].join();
      if (key !== this.shown) { globe.setState(exhibit, k, scale); this.shown = key; }
      globe.setLandscape(land);
      globe.draw(globes, { ...app.options, sharpness: app.sharpness });
    } else {
      pen.fillStyle = INK; pen.fillText(this.problem, 10, 20);
    }
    for (const g of globes) this.drawOver(pen, g, k, land);
    if (globes.length > 1) {
      pen.fillStyle = MUTED; pen.textAlign = "center";
      pen.fillText("other side", globes[1].x, globes[1].y - globes[1].radius - 6);
    }
    const isField = app.options.ground && land?.field;
    if (isField) {
      const reach = unitOf(land.field);
      drawBar(pen, width, height, new Scale(-reach, reach), POTENTIAL, "potential V");
    } else if (exhibit.gridAt(k)) drawBar(pen, width, height, scale, COLOURS, "density ρ, per unit area");
    this.drawLegend(pen, height, land, k);
  }

  drawOver(pen, g, k, land) {
    const { exhibit, app } = this, [right, up, near] = g.frame, isSmall = g.isBack;
    const seen = (p) => [g.x + g.radius * dot(right, p), g.y - g.radius * dot(up, p), dot(near, p)];
    const line = (points, colour, wide, isHaloed) => {
      pen.beginPath();
      let before = null;
      for (const p of points) {
        const q = seen(p);
        if (q[2] > 0) { if (before && before[2] > 0) pen.lineTo(q[0], q[1]); else pen.moveTo(q[0], q[1]); }
        before = q;
      }
      if (isHaloed) { pen.lineWidth = wide + 1.6; pen.strokeStyle = "rgba(255,255,255,0.8)"; pen.stroke(); }
      pen.lineWidth = wide; pen.strokeStyle = colour; pen.stroke();
    };
    for (const g30 of GRATICULE) line(g30, "rgba(60,70,85,0.16)", 0.8);
    pen.beginPath(); pen.arc(g.x, g.y, g.radius, 0, TURN);
    pen.lineWidth = 1; pen.strokeStyle = "rgba(60,70,85,0.45)"; pen.stroke();
    if (app.options.neurons && land) this.drawNeurons(pen, seen, line, land, isSmall);
    const time = exhibit.times[k], share = isSmall ? 0.55 : 1;
    if (app.options.paths && exhibit.track) {
      for (const path of exhibit.track.paths) {
        const wide = share * (0.9 + 2.4 * Math.max(...path.masses));
        const points = pathUntil(path, time);
        if (points.length > 1) line(points, ATOM, wide, true);
      }
    }
    const own = exhibit.atomsAt(k);
    if (exhibit.frames.atoms.crowd) {
      pen.fillStyle = `rgba(0,114,178,${Math.max(0.25, Math.min(0.8, 400 / own.length))})`;
      for (const { place } of own) {
        const [x, y, z] = seen(place);
        if (z > 0) pen.fillRect(x - 1.3 * share, y - 1.3 * share, 2.6 * share, 2.6 * share);
      }
    }
    if (!app.options.atoms) return;
    const found = markedAtoms(exhibit, k);
    for (const atom of found) {
      const [x, y, z] = seen(atom.place);
      if (z > 0) drawAtom(pen, x, y, atom, share * (g.radius / 240), !isSmall && found.length <= 12);
    }
  }

  drawNeurons(pen, seen, line, land, isSmall) {
    const count = land.neurons.length;
    land.neurons.forEach((neuron, index) => {
      neuron.circle ??= neuronCircle(neuron);
      line(neuron.circle, colourOfNeuron(index, count), isSmall ? 1.1 : 1.8, true);
    });
    land.neurons.forEach((neuron, index) => {
      const [x, y, z] = seen(unit(neuron.a));
      if (z <= 0) return;
      triangle(pen, x, y, isSmall ? 3.5 : 6, neuron.w, colourOfNeuron(index, count));
      if (!isSmall && count <= NEURONS.length) { pen.font = "italic " + FONT; haloed(pen, `a${"₁₂₃₄₅₆"[index]}`, x + 9, y - 4); pen.font = SMALL; }
    });
  }

  drawLegend(pen, height, land, k) {
    const entries = [];
    const { options } = this.app;
    if (options.neurons && land?.neurons.length) {
      entries.push(["line", "a·x + b = 0"]);
      if (land.neurons.some((n) => n.w > 0)) entries.push(["up", "w > 0"]);
      if (land.neurons.some((n) => n.w !== null && n.w <= 0)) entries.push(["down", "w < 0"]);
      if (this.globe?.hasZone) entries.push(["hatch", "no neuron active"]);
    }
    const found = options.atoms ? markedAtoms(this.exhibit, k) : [];
    if (found.length) entries.push(["atom", "atom, area ∝ mass"]);
    if (found.some(isOnItsWay)) entries.push(["basin", "basin, of what is on its way (+)"]);
    let y = 12;
    pen.textAlign = "left"; pen.textBaseline = "middle";
    for (const [mark, text] of entries) {
      if (mark === "line") { pen.strokeStyle = MUTED; pen.lineWidth = 1.8; pen.beginPath(); pen.moveTo(2, y); pen.lineTo(18, y); pen.stroke(); }
      if (mark === "up" || mark === "down") triangle(pen, 10, y, 4.5, mark === "up" ? 1 : -1, "#fff");
      if (mark === "hatch") { pen.fillStyle = hatch(pen); pen.fillRect(2, y - 6, 16, 12); pen.strokeStyle = FAINT; pen.strokeRect(2, y - 6, 16, 12); }
      if (mark === "basin") pen.setLineDash([2, 3]);
      if (mark === "atom" || mark === "basin") { pen.strokeStyle = ATOM; pen.lineWidth = 1.8; pen.beginPath(); pen.arc(10, y, 5, 0, TURN); pen.stroke(); pen.setLineDash([]); }
      haloed(pen, text, 24, y, MUTED);
      y += 17;
    }
    pen.textBaseline = "alphabetic";
  }
}

// Parallels and meridians every 30 degrees.
const GRATICULE = (() => {
  const lines = [];
  for (let b = -60; b <= 60; b += 30) {
    const z = Math.sin((b * Math.PI) / 180), r = Math.cos((b * Math.PI) / 180);
    lines.push(Array.from({ length: 97 }, (_, i) => [r * Math.cos((TURN * i) / 96), r * Math.sin((TURN * i) / 96), z]));
  }
  for (let l = 0; l < 360; l += 30) {
    const phi = (l * Math.PI) / 180;
    lines.push(Array.from({ length: 49 }, (_, i) => { const t = (Math.PI * (0.5 + i * 47 / 48)) / 48; return [Math.sin(t) * Math.cos(phi), Math.sin(t) * Math.sin(phi), Math.cos(t)]; }));
  }
  return lines;
})();

// Points of a path up to a time, along great circles.
function pathUntil(path, time) {
  const points = [];
  for (let i = 0; i < path.times.length && path.times[i] <= time * (1 + 1e-12) + 1e-12; i++) {
    if (points.length) points.push(...arc(points[points.length - 1], path.places[i]));
    else points.push(path.places[i]);
  }
  return points;
}

// Atoms with marks: those that were followed, else those that the state carries (no crowd).
function markedAtoms(exhibit, k) {
  const seen = exhibit.seenAt(k).filter((atom) => atom.identity > 0);
  if (seen.length) return seen;
  if (exhibit.frames.atoms.crowd && exhibit.frames.atoms.counts[k] > 20) return [];
  return exhibit.atomsAt(k).map(({ place, mass }) => ({ place, mass, arrived: mass, forming: false, own: true }));
}

// Whether so much is on its way that the whole basin has a mark.
const isOnItsWay = ({ mass, arrived }) => arrived !== null && mass - arrived > 0.1 * mass;

// A ring of the area of what has arrived, dotted for the whole basin where more is on its way.
function drawAtom(pen, x, y, atom, size, isLabelled) {
  const whole = atom.mass, there = atom.arrived === null ? whole : atom.arrived;
  const radius = (mass) => size * 22 * Math.sqrt(Math.max(mass, 0));
  const ring = (r, dashes) => {
    pen.setLineDash(dashes);
    pen.beginPath(); pen.arc(x, y, Math.max(r, 2), 0, TURN);
    pen.lineWidth = 3.4; pen.strokeStyle = "rgba(255,255,255,0.85)"; pen.stroke();
    pen.lineWidth = 1.8; pen.strokeStyle = ATOM; pen.stroke();
    pen.setLineDash([]);
  };
  if (atom.own) { pen.beginPath(); pen.arc(x, y, Math.max(radius(whole), 2.5), 0, TURN); pen.fillStyle = ATOM; pen.fill(); pen.lineWidth = 1; pen.strokeStyle = "#fff"; pen.stroke(); }
  else {
    if (there > 0) ring(radius(there), []);
    if (isOnItsWay(atom)) ring(radius(whole), [2, 3]);
  }
  if (!isLabelled) return;
  const extra = whole - there > 5e-4 && there > 0 ? ` (+${short(whole - there, 2)})` : "";
  const text = there > 0 ? short(there) + extra : `forming, ${short(whole)}`;
  const beside = Math.max(radius(there > 0 && !extra ? there : whole), 3) + 5;
  const isAtEdge = x + beside + pen.measureText(text).width > pen.canvas.clientWidth;
  pen.textAlign = isAtEdge ? "right" : "left";
  haloed(pen, text, isAtEdge ? x - beside : x + beside, y + 4);
  pen.textAlign = "left";
}

// A column of colours with its ticks, beside a map.
function drawColumn(pen, { left, top, height }, scale, label) {
  for (let i = 0; i < height; i++) {
    const c = 3 * Math.round((255 * (height - 1 - i)) / (height - 1));
    pen.fillStyle = `rgb(${COLOURS[c]},${COLOURS[c + 1]},${COLOURS[c + 2]})`;
    pen.fillRect(left, top + i, 8, 1.5);
  }
  pen.strokeStyle = MUTED; pen.lineWidth = 0.6; pen.strokeRect(left, top, 8, height);
  pen.fillStyle = INK; pen.textAlign = "left"; pen.textBaseline = "middle";
  pen.fillText(label, left, top - 7);
  for (const tick of scale.ticks(4)) pen.fillText(short(tick), left + 12, top + height * (1 - scale.at(tick)));
  pen.textBaseline = "alphabetic";
}

// A horizontal bar of colours with its ticks, at the bottom of a stage.
function drawBar(pen, width, height, scale, table, label) {
  const words = pen.measureText(label).width + 8, wide = Math.min(320, 0.5 * width), x = (width - wide - words) / 2 + words, y = height - 26, tall = 7;
  for (let i = 0; i < wide; i++) {
    const c = 3 * Math.round((255 * i) / (wide - 1));
    pen.fillStyle = `rgb(${table[c]},${table[c + 1]},${table[c + 2]})`;
    pen.fillRect(x + i, y, 1.5, tall);
  }
  pen.strokeStyle = MUTED; pen.lineWidth = 0.6; pen.strokeRect(x, y, wide, tall);
  pen.fillStyle = INK; pen.textAlign = "right"; pen.textBaseline = "middle";
  pen.fillText(label, x - 8, y + tall / 2);
  pen.textAlign = "center"; pen.textBaseline = "alphabetic";
  for (const tick of scale.ticks(5)) {
    const place = x + wide * scale.at(tick);
    pen.beginPath(); pen.moveTo(place, y + tall); pen.lineTo(place, y + tall + 3); pen.stroke();
    pen.fillText(short(tick), place, y + tall + 14);
  }
}
