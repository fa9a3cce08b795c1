// Many runs: a card for each with its last state, what tells it from the others, and a link.

class Gallery {
  constructor() {
    const keys = [...new Set(TOLD.runs.flatMap(({ parameters }) => Object.keys(parameters)))];
    const order = element("order");
    this.cards = element("cards");
    if (TOLD.runs.some(({ atoms }) => atoms !== null)) keys.push("number of atoms");
    for (const key of keys) order.add(new Option(key));
    order.addEventListener("change", () => this.arrange(order.value));
    const watcher = new IntersectionObserver((entries) => {
      for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
        watcher.unobserve(target);
        drawThumbnail(target, TOLD.runs[target.dataset.index]);
      }
    }, { rootMargin: "400px" });
    this.all = TOLD.runs.map((run, index) => this.cardOf(run, index, watcher));
  }

  cardOf(run, index, watcher) {
    const { card, canvas, a: link, name, told } = copyOf("card", this.cards);
    const words = Object.entries(run.parameters).map(([key, value]) => (
      `${key.split(".").pop()} = ${typeof value === "number" ? short(value, 6) : value}`));
    if (run.atoms !== null) words.push(countWords(run.atoms, run.forming));
    canvas.setAttribute("aria-label", `Last state of ${run.name}`);
    canvas.dataset.index = index;
    link.href = `#run=${index}`;
    name.textContent = run.name;
    told.textContent = words.join(" · ");
    watcher.observe(canvas);
    return card;
  }

  arrange(key) {
    const valueOf = ({ parameters, atoms }) => (key === "number of atoms" ? atoms : parameters[key]);
    const order = TOLD.runs.map((run, index) => ({ index, value: key === "as given" ? index : valueOf(run) }));
    order.sort(({ value: a }, { value: b }) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
    this.cards.append(...order.map(({ index }) => this.all[index]));
  }
}

// The last state: a globe seen from where the mass is, or a curve.
function drawThumbnail(canvas, run) {
  const { pen, width, height } = prepared(canvas);
  if (!run.thumbnail) { write(pen, "particles", width / 2, height / 2, { colour: MUTED, align: "center" }); return; }
  const { grid, values } = run.thumbnail, high = Math.max(...values), mean = values.reduce((a, b) => a + b) / values.length;
  const scale = high > 50 * mean ? new Scale(Math.min(1e-4 * high, 1e-2 * mean), high, true) : new Scale(0, high || 1);
  if (run.domain === "sphere") {
    const globe = (drawThumbnail.globe ??= new Globe(Object.assign(node("canvas"), { width: 2 * width, height: 2 * height })));
    globe.setDensity(grid, Uint8Array.from(values, (value) => byteOf(scale.at(value))));
    globe.draw([{ frame: Camera.towards(run.middle).frame(), x: width, y: height, radius: 0.96 * width }], {});
    pen.drawImage(globe.canvas, 0, 0, width, height);
  } else {
    const points = values.map((value, i) => [6 + ((width - 12) * (i + 0.5)) / values.length, height - 10 - 0.9 * (height - 20) * clamp(scale.at(value))]);
    polygon(pen, [[6, height - 10], ...points, [width - 6, height - 10]], TINT);
    polyline(pen, points, DENSITY, 1.3);
    polyline(pen, [[6, 10], [6, height - 10], [width - 6, height - 10]], MUTED, 0.7);
  }
}
