// Many runs: a card for each with its last state, what tells it from the others, and a link.

class Gallery {
  constructor(host, app) {
    Object.assign(this, { host, app, picked: [] });
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.innerHTML = "<span></span><label>Order by <select aria-label='Order of the runs'></select></label><button type='button' disabled>Compare two</button>";
    this.count = tools.querySelector("span");
    this.count.textContent = `${TOLD.runs.length} runs; the last state of each. Colours run over four decades, each by itself.`;
    const order = tools.querySelector("select"), keys = [...new Set(TOLD.runs.flatMap((r) => Object.keys(r.parameters)))];
    for (const key of ["as given", ...keys, ...(TOLD.runs.some((r) => r.atoms !== null) ? ["number of atoms"] : [])]) order.add(new Option(key, key));
    order.addEventListener("change", () => this.arrange(order.value));
    this.compare = tools.querySelector("button");
    this.compare.addEventListener("click", () => { location.hash = `#run=${this.picked.join(",")}`; });
    this.cards = document.createElement("div");
    this.cards.className = "cards";
    host.append(tools, this.cards);
    this.all = TOLD.runs.map((run, index) => this.cardOf(run, index));
    this.cards.append(...this.all);
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); drawThumbnail(entry.target.querySelector("canvas"), TOLD.runs[Number(entry.target.dataset.index)]); }
    }, { rootMargin: "400px" });
    this.all.forEach((card) => watcher.observe(card));
  }

  cardOf(run, index) {
    const card = document.createElement("article");
    card.className = "card";
    card.dataset.index = index;
    const link = document.createElement("a");
    link.href = `#run=${index}`;
    const canvas = document.createElement("canvas"), name = document.createElement("div"), told = document.createElement("div");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Last state of ${run.name}`);
    name.className = "name"; name.textContent = run.name;
    link.append(canvas, name);
    told.className = "told";
    const words = Object.entries(run.parameters).map(([key, value]) => `${key.split(".").pop()} = ${typeof value === "number" ? short(value, 6) : value}`);
    if (run.atoms !== null) words.push(countWords(run.atoms, run.forming));
    told.textContent = words.join(" · ");
    const pick = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.addEventListener("change", () => {
      this.picked = box.checked ? [...this.picked, index].slice(-2) : this.picked.filter((i) => i !== index);
      this.all.forEach((c) => { c.querySelector("input").checked = this.picked.includes(Number(c.dataset.index)); });
      this.compare.disabled = this.picked.length !== 2;
    });
    pick.append(box, " compare");
    card.append(link, told, pick);
    return card;
  }

  arrange(key) {
    const value = (card) => { const run = TOLD.runs[Number(card.dataset.index)]; return key === "as given" ? Number(card.dataset.index) : key === "number of atoms" ? run.atoms : run.parameters[key]; };
    const compared = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    this.cards.append(...[...this.all].sort((a, b) => compared(value(a), value(b)) || a.dataset.index - b.dataset.index));
  }
}

// The colours of a thumbnail: four decades, as in pictures of a single state.
function thumbnailScale(values) {
  let high = 0, sum = 0;
  for (const v of values) { high = Math.max(high, v); sum += v; }
  const mean = sum / values.length, isLog = high > 50 * mean;
  return isLog ? new Scale(Math.min(1e-4 * high, 1e-2 * mean), high, true) : new Scale(0, high || 1);
}

function drawThumbnail(canvas, run) {
  const { pen, width, height } = prepared(canvas);
  if (!run.thumbnail) { pen.fillStyle = MUTED; pen.textAlign = "center"; pen.fillText("particles", width / 2, height / 2); return; }
  const { grid, values } = run.thumbnail, scale = thumbnailScale(values);
  if (run.domain === "sphere") drawSmallGlobe(pen, canvas, grid, values, scale);
  else drawSmallCurve(pen, width, height, run, grid, values, scale);
}

// A globe by the processor, seen from where the mass is.
function drawSmallGlobe(pen, canvas, grid, values, scale) {
  const size = Math.min(canvas.width, canvas.height), image = pen.createImageData(canvas.width, canvas.height);
  const camera = cameraTowards(grid, values), [right, up, near] = camera.frame(), polar = grid.colatitudes[0];
  const step = (grid.colatitudes[grid.rows - 1] - polar) / (grid.rows - 1);
  const light = [-0.4507, 0.5008, 0.7391], radius = 0.48 * size;
  for (let py = 0; py < canvas.height; py++) {
    for (let px = 0; px < canvas.width; px++) {
      const x = (px + 0.5 - canvas.width / 2) / radius, y = (canvas.height / 2 - py - 0.5) / radius, rest = 1 - x * x - y * y;
      const edge = (1 - Math.hypot(x, y)) * radius + 0.5;
      if (edge <= 0) continue;
      const z = Math.sqrt(Math.max(rest, 0)), p = [0, 1, 2].map((i) => x * right[i] + y * up[i] + z * near[i]);
      const row = (Math.acos(Math.max(-1, Math.min(1, p[2]))) - polar) / step;
      const column = ((Math.atan2(p[1], p[0]) - grid.first) / TURN) * grid.columns;
      const r = Math.floor(row), c = Math.floor(column), u = row - r, v = column - c;
      const at = (i, j) => {
        if (i < 0) { i = -1 - i; j += grid.columns / 2; }
        if (i >= grid.rows) { i = 2 * grid.rows - 1 - i; j += grid.columns / 2; }
        return scale.at(values[i * grid.columns + (((j % grid.columns) + grid.columns) % grid.columns)]);
      };
      const s = (1 - u) * ((1 - v) * at(r, c) + v * at(r, c + 1)) + u * ((1 - v) * at(r + 1, c) + v * at(r + 1, c + 1));
      const k = 3 * Math.round(255 * Math.max(0, Math.min(1, s))), bright = 0.82 + 0.18 * Math.max(0, x * light[0] + y * light[1] + z * light[2]), to = 4 * (py * canvas.width + px);
      for (let i = 0; i < 3; i++) image.data[to + i] = COLOURS[k + i] * bright;
      image.data[to + 3] = 255 * Math.min(1, edge);
    }
  }
  pen.putImageData(image, 0, 0);
}

// A camera onto the middle of the mass, where that is clear of the centre.
function cameraTowards(grid, values) {
  let sum = 0;
  const mean = [0, 0, 0];
  for (let r = 0; r < grid.rows; r++) {
    const theta = grid.colatitudes[r], s = Math.sin(theta);
    for (let c = 0; c < grid.columns; c++) {
      const mass = values[r * grid.columns + c] * s, phi = grid.first + (TURN * c) / grid.columns;
      sum += mass;
      mean[0] += mass * s * Math.cos(phi); mean[1] += mass * s * Math.sin(phi); mean[2] += mass * Math.cos(theta);
    }
  }
  if (Math.hypot(...mean) < 0.3 * sum) return new Camera();
  return new Camera(Math.atan2(mean[1], mean[0]), Math.atan2(mean[2], Math.hypot(mean[0], mean[1])));
}

function drawSmallCurve(pen, width, height, run, grid, values, scale) {
  if (run.domain === "circle") {
    const x = width / 2, y = height / 2, radius = 0.26 * width, room = 0.2 * width;
    pen.beginPath();
    for (let i = 0; i < grid.n; i++) {
      const angle = grid.first + grid.step * i, r = radius + room * Math.max(0, Math.min(1, scale.at(values[i])));
      const p = [x + r * Math.cos(angle), y - r * Math.sin(angle)];
      if (i) pen.lineTo(...p); else pen.moveTo(...p);
    }
    pen.closePath();
    pen.strokeStyle = DENSITY; pen.lineWidth = 1.2; pen.stroke();
    pen.arc(x, y, radius, 0, TURN, true);
    pen.fillStyle = "rgba(0,114,178,0.25)"; pen.fill("evenodd");
    pen.beginPath(); pen.arc(x, y, radius, 0, TURN); pen.strokeStyle = MUTED; pen.lineWidth = 0.8; pen.stroke();
    return;
  }
  const box = { left: 6, right: width - 6, top: 10, bottom: height - 10 };
  frameOf(pen, box, null, 0);
  pen.beginPath();
  for (let i = 0; i < grid.n; i++) {
    const px = box.left + ((box.right - box.left) * (grid.first + grid.step * i)) / Math.PI, py = box.bottom - (box.bottom - box.top) * 0.95 * Math.max(0, Math.min(1, scale.at(values[i])));
    if (i) pen.lineTo(px, py); else pen.moveTo(px, py);
  }
  pen.strokeStyle = DENSITY; pen.lineWidth = 1.3; pen.stroke();
}
