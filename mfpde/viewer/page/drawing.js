// What all drawings share: colours, numbers as words, scales, canvases, marks.

const { density: DENSITY, atom: ATOM, neurons: NEURONS } = TOLD.palette;
const INK = "#1c2430", MUTED = "#5a6472";
const TINT = "rgba(0,114,178,0.13)", HALO = "rgba(255,255,255,0.85)", THIN = "rgba(60,70,85,0.4)";
const RUNS = [DENSITY, INK];
const TURN = 2 * Math.PI;
const SMALL = "11px system-ui, -apple-system, 'Segoe UI', Arial, sans-serif";
const LABELS = {
  circle: { angle: "angle θ", density: "density ρ (per radian)", letter: "ρ" },
  zonal: { angle: "polar angle θ", density: "mass per polar angle (per radian)", letter: "n" },
  sphere: { density: "density ρ (per unit area)", letter: "ρ" },
};

const coloursOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
const COLOURS = coloursOf(TOLD.colours.density), POTENTIAL = coloursOf(TOLD.colours.potential);
const colourAt = (table, share) => `rgb(${table.subarray(3 * byteOf(share), 3 * byteOf(share) + 3).join()})`;
const colourOfNeuron = (index, count) => (count <= NEURONS.length ? NEURONS[index] : MUTED);

const element = (id) => document.getElementById(id);
const clamp = (value, low = 0, high = 1) => Math.max(low, Math.min(high, value));
const byteOf = (share) => Math.round(255 * clamp(share));
const turned = (angle) => ((angle % TURN) + TURN) % TURN;

function short(value, digits = 3) {
  if (value === null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e5 || (size < 1e-3 && size > 0)) {
    const [front, power] = value.toExponential(digits - 1).split("e");
    const raised = String(Number(power)).replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
    return `${Number(front)}·10${raised}`.replace(/^(-?)1·/, "$1").replace("-", "−");
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

const inPi = (angle) => `${short(angle / Math.PI)} π`;

// How many atoms there are, and how many more are forming.
function countWords(count, forming) {
  const atoms = count - forming;
  return `${atoms} atom${atoms === 1 ? "" : "s"}${forming ? `, ${forming} forming` : ""}`;
}

// A scale from values to 0..1, linear or logarithmic.
class Scale {
  constructor(low, high, isLog = false) { Object.assign(this, { low, high, isLog }); }
  at(value) {
    if (!this.isLog) return (value - this.low) / (this.high - this.low || 1);
    return value <= this.low ? 0 : Math.log(value / this.low) / Math.log(this.high / this.low || 2);
  }
  ticks(wanted) {
    const { low, high, isLog } = this, ends = isLog ? [Math.log10(low), Math.log10(high)] : [low, high];
    const rough = (ends[1] - ends[0]) / wanted, power = 10 ** Math.floor(Math.log10(rough)), found = [];
    let step = [1, 2, 5, 10].find((m) => m * power >= 0.999 * rough) * power;
    if (isLog) step = Math.max(1, Math.ceil(rough));
    for (let k = Math.ceil(ends[0] / step - 1e-9); k * step <= ends[1] + 1e-9 * step; k++) found.push(k * step);
    if (!isLog) return found;
    return found.length > 1 ? found.map((p) => 10 ** p) : [low, high];
  }
}

// Where an axis of times begins that is logarithmic, as half of them lie in the first tenth.
function firstOfLogarithm(times) {
  const positive = times.filter((t) => t > 0), isLog = positive.length >= 4 && positive[positive.length >> 1] < 0.1 * times[times.length - 1];
  return isLog ? positive[0] : -Infinity;
}

function node(tag, className = "", text = "") {
  const made = document.createElement(tag);
  Object.assign(made, { className, textContent: text });
  return made;
}

// A copy of a template of the page, and its parts by their classes and tags.
function copyOf(id, host) {
  const copy = element(id).content.cloneNode(true), parts = {};
  for (const part of copy.querySelectorAll("*")) parts[part.className || part.localName] = part;
  host.append(copy);
  return parts;
}

// A canvas at the screen's resolution; drawing is in CSS pixels, by the processor, which is
// faster for lines and words wherever there is no graphics card.
function prepared(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2), width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = SMALL;
  pen.lineJoin = "round";
  return { pen, width, height };
}

// Words beside the pointer: what wordsAt(x, y) says of a place on an element, if anything.
function readOut(element, wordsAt) {
  const box = node("output", "readout");
  box.hidden = true;
  element.after(box);
  element.addEventListener("pointermove", ({ offsetX: x, offsetY: y, buttons }) => {
    box.textContent = buttons ? "" : wordsAt(x, y);
    box.hidden = !box.textContent;
    box.style.left = `${element.offsetLeft + Math.min(x + 14, element.clientWidth - box.offsetWidth)}px`;
    box.style.top = `${element.offsetTop + (y < 30 ? y + 18 : y - 28)}px`;
  });
  element.addEventListener("pointerleave", () => { box.hidden = true; });
}

// Lines between points, but for those between points that are not joined.
function polyline(pen, points, colour, wide, isHaloed = false, areJoined = () => true) {
  pen.beginPath();
  points.forEach((p, i) => pen[i && areJoined(points[i - 1], p) ? "lineTo" : "moveTo"](p[0], p[1]));
  stroke(pen, colour, wide, isHaloed);
}

function stroke(pen, colour, wide, isHaloed = false) {
  if (isHaloed) { pen.lineWidth = wide + 1.6; pen.strokeStyle = HALO; pen.stroke(); }
  pen.lineWidth = wide; pen.strokeStyle = colour; pen.stroke();
}

function polygon(pen, points, fill, line = null) {
  pen.beginPath();
  points.forEach(([x, y]) => pen.lineTo(x, y));
  pen.closePath();
  pen.fillStyle = fill; pen.fill();
  if (line) stroke(pen, line, 1);
}

// Begin a path that is a circle.
function circle(pen, x, y, radius) { pen.beginPath(); pen.arc(x, y, radius, 0, TURN); }

const SHAPES = {
  up: [[0, -1], [1, 0.8], [-1, 0.8]], down: [[0, 1], [1, -0.8], [-1, -0.8]],
  diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]], square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
};

function shape(pen, name, x, y, size, colour) {
  polygon(pen, SHAPES[name].map(([a, b]) => [x + size * a, y + size * b]), colour, INK);
}

function write(pen, text, x, y, { colour = INK, align = "left", isHaloed = false, font = SMALL } = {}) {
  Object.assign(pen, { font, textAlign: align, textBaseline: "middle", fillStyle: colour });
  if (isHaloed) { pen.lineWidth = 3; pen.strokeStyle = HALO; pen.strokeText(text, x, y); }
  pen.fillText(text, x, y);
}

// The direction of a neuron: up for positive weights, down for negative, a diamond for vectors.
function drawDirection(pen, x, y, { w }, index, count, { isAtEdge = false, isSmall = false } = {}) {
  shape(pen, w === null ? "diamond" : w > 0 ? "up" : "down", x, y, isSmall ? 3.5 : 5, colourOfNeuron(index, count));
  if (isSmall || count > NEURONS.length) return;
  const look = { align: isAtEdge ? "right" : "left", isHaloed: true, font: `italic ${SMALL}` };
  write(pen, `a${"₁₂₃₄₅₆"[index]}`, x + (isAtEdge ? -8 : 8), y + 9, look);
}

function hatch(pen) {
  const tile = node("canvas");
  tile.width = tile.height = 8;
  const p = tile.getContext("2d");
  polyline(p, [[-2, 6], [6, -2]], "#9aa1ab", 1);
  polyline(p, [[2, 10], [10, 2]], "#9aa1ab", 1);
  return pen.createPattern(tile, "repeat");
}

// Whether so much is on its way that the whole basin has a mark.
const isOnItsWay = ({ mass, arrived }) => arrived !== null && mass - arrived > 0.1 * mass;

// A ring of the area of what has arrived, dotted for the whole basin where more is on its way; a
// disc for an atom of the state itself.
function drawAtom(pen, x, y, atom, size, isLabelled) {
  const whole = atom.mass, there = atom.arrived ?? whole, radius = (mass) => size * 22 * Math.sqrt(Math.max(mass, 0));
  const ring = (r, dashes) => {
    pen.setLineDash(dashes);
    circle(pen, x, y, Math.max(r, 2));
    if (atom.isOwn) { pen.fillStyle = ATOM; pen.fill(); stroke(pen, "#fff", 1); } else stroke(pen, ATOM, 1.8, true);
    pen.setLineDash([]);
  };
  if (there > 0) ring(radius(there), []);
  if (isOnItsWay(atom)) ring(radius(whole), [2, 3]);
  if (!isLabelled) return;
  const extra = whole - there > 5e-4 && there > 0 ? ` (+${short(whole - there, 2)})` : "";
  const text = there > 0 ? short(there) + extra : `forming, ${short(whole)}`;
  const beside = Math.max(radius(there > 0 && !extra ? there : whole), 3) + 5;
  pen.font = SMALL;
  const isAtEdge = x + beside + pen.measureText(text).width > pen.canvas.clientWidth;
  write(pen, text, isAtEdge ? x - beside : x + beside, y, { align: isAtEdge ? "right" : "left", isHaloed: true });
}

// Marks of births, merges, fissions and deaths, as in the figures.
function mark(pen, kind, x, y, size = 3.4) {
  if (kind === "death") {
    for (const up of [size, -size]) polyline(pen, [[x - size, y - up], [x + size, y + up]], ATOM, 2);
  } else if (kind === "birth") {
    circle(pen, x, y, 0.85 * size);
    pen.fillStyle = "#fff"; pen.fill(); stroke(pen, INK, 0.8);
  } else shape(pen, kind === "merge" ? "diamond" : "square", x, y, size, ATOM);
}

// Digits that tell ticks apart.
function digitsFor(ticks) {
  const step = Math.min(...ticks.slice(1).map((tick, i) => Math.abs(tick - ticks[i])));
  return clamp(Math.ceil(Math.log10(Math.max(...ticks.map(Math.abs)) / step || 1)) + 1, 3, 12);
}

// A bar of colours with its label at the left and ticks below.
function drawBar(pen, { x, y, wide }, scale, table, label) {
  for (let i = 0; i < wide; i++) {
    pen.fillStyle = colourAt(table, i / (wide - 1));
    pen.fillRect(x + i, y, 1.5, 7);
  }
  pen.lineWidth = 0.6; pen.strokeStyle = MUTED; pen.strokeRect(x, y, wide, 7);
  write(pen, label, x - 8, y + 4, { align: "right" });
  const ticks = scale.ticks(4), digits = scale.isLog ? 3 : digitsFor(ticks);
  for (const tick of ticks) {
    const place = x + wide * scale.at(tick);
    polyline(pen, [[place, y + 7], [place, y + 10]], MUTED, 0.6);
    write(pen, short(tick, digits), place, y + 17, { align: "center" });
  }
}
