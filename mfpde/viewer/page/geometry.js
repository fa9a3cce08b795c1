// What all drawings share: colours, numbers as words, ticks, the sphere seen from a side.

const INK = "#1c2430", MUTED = "#5a6472", FAINT = "#d9dde3", DENSITY = "#0072b2", ATOM = "#d55e00";
const NEURONS = ["#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442", "#d55e00"];
const RUNS = ["#0072b2", "#d55e00"];
const TURN = 2 * Math.PI;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Arial, sans-serif";
const SMALL = "11px system-ui, -apple-system, 'Segoe UI', Arial, sans-serif";

function coloursOf(hex) {
  const table = new Uint8Array(hex.length / 2);
  for (let k = 0; k < table.length; k++) table[k] = parseInt(hex.substr(2 * k, 2), 16);
  return table;
}
const COLOURS = coloursOf(TOLD.colours.density), POTENTIAL = coloursOf(TOLD.colours.potential);

const colourOfNeuron = (index, count) => (count <= NEURONS.length ? NEURONS[index] : MUTED);

function short(value, digits = 3) {
  if (value === null || !isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [front, power] = value.toExponential(digits - 1).split("e");
    const digit = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
    const raised = [...String(Number(power))].map((c) => digit[c]).join("");
    const plain = String(Number(front));
    return (plain === "1" ? "10" : plain === "-1" ? "−10" : `${plain.replace("-", "−")}·10`) + raised;
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

function niceTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough * 0.999) * power, ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return ticks;
}

function decades(low, high, wanted) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / wanted)), ticks = [];
  for (let p = first; p <= last; p += stride) ticks.push(10 ** p);
  return ticks;
}

// A scale from values to 0..1, linear or logarithmic.
class Scale {
  constructor(low, high, isLog = false) { Object.assign(this, { low, high, isLog }); }
  at(value) {
    if (!this.isLog) return (value - this.low) / (this.high - this.low || 1);
    if (value <= this.low) return 0;
    return Math.log(value / this.low) / Math.log(this.high / this.low || 2);
  }
  inverse(share) {
    return this.isLog ? this.low * (this.high / this.low) ** share : this.low + share * (this.high - this.low);
  }
  ticks(wanted) {
    if (!this.isLog) return niceTicks(this.low, this.high, wanted);
    const found = decades(this.low, this.high, wanted);
    return found.length > 1 ? found : [this.low, this.high];
  }
}

// Times: logarithmic where half of the saves lie in the first tenth.
function timeScale(times) {
  const positive = times.filter((t) => t > 0), last = times[times.length - 1];
  if (positive.length >= 4 && positive[positive.length >> 1] < 0.1 * last) return new Scale(positive[0], last, true);
  return last > times[0] ? new Scale(times[0], last) : new Scale(times[0] - 0.5, times[0] + 0.5);
}

// A canvas at the screen's resolution; drawing is in CSS pixels, by the processor, which is
// faster for lines and words wherever there is no graphics card.
function prepared(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = SMALL;
  pen.lineJoin = "round";
  return { pen, width, height };
}

// Words beside the pointer: what wordsAt(x, y) says of a place on a canvas, if anything.
function readOut(canvas, wordsAt) {
  const box = document.createElement("output");
  box.className = "readout"; box.hidden = true;
  canvas.after(box);
  canvas.addEventListener("pointermove", ({ offsetX: x, offsetY: y, buttons }) => {
    const words = buttons ? "" : wordsAt(x, y);
    box.hidden = !words;
    if (!words) return;
    box.textContent = words;
    box.style.left = `${canvas.offsetLeft + Math.min(x + 14, canvas.clientWidth - box.offsetWidth)}px`;
    box.style.top = `${canvas.offsetTop + (y < 30 ? y + 18 : y - 28)}px`;
  });
  canvas.addEventListener("pointerleave", () => { box.hidden = true; });
}

const inPi = (angle) => `${short(angle / Math.PI)} π`;

function haloed(pen, text, x, y, colour = INK) {
  pen.lineWidth = 3;
  pen.strokeStyle = "rgba(255,255,255,0.85)";
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

function triangle(pen, x, y, size, weight, colour) {
  pen.beginPath();
  if (weight === null) { pen.moveTo(x, y - size); pen.lineTo(x + size, y); pen.lineTo(x, y + size); pen.lineTo(x - size, y); }
  else {
    const up = weight > 0 ? 1 : -1;
    pen.moveTo(x, y - up * size); pen.lineTo(x + size, y + up * 0.8 * size); pen.lineTo(x - size, y + up * 0.8 * size);
  }
  pen.closePath();
  pen.fillStyle = colour; pen.fill();
  pen.lineWidth = 1; pen.strokeStyle = INK; pen.stroke();
}

function hatch(pen) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const p = tile.getContext("2d");
  p.strokeStyle = "#9aa1ab"; p.lineWidth = 1;
  p.beginPath(); p.moveTo(-2, 6); p.lineTo(6, -2); p.moveTo(2, 10); p.lineTo(10, 2); p.stroke();
  return pen.createPattern(tile, "repeat");
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const n = Math.hypot(...a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };

// The direction that a viewer looks from: longitude and latitude; rows of the frame are
// right, up and towards the viewer.
class Camera {
  constructor(longitude = 0, latitude = Math.PI / 9, zoom = 1) { Object.assign(this, { longitude, latitude, zoom }); }
  frame(isBack = false) {
    const { longitude: l, latitude: b } = this, s = isBack ? -1 : 1;
    return [
      [-s * Math.sin(l), s * Math.cos(l), 0],
      [-Math.sin(b) * Math.cos(l), -Math.sin(b) * Math.sin(l), Math.cos(b)],
      [s * Math.cos(b) * Math.cos(l), s * Math.cos(b) * Math.sin(l), s * Math.sin(b)],
    ];
  }
  turn(right, up) {
    this.longitude = (this.longitude + right) % TURN;
    this.latitude = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, this.latitude + up));
  }
}

// Points along the great circle from a to b, without a.
function arc(a, b) {
  const angle = Math.acos(Math.max(-1, Math.min(1, dot(a, b)))), count = 1 + Math.floor(angle / 0.05);
  if (angle < 1e-5) return [b];
  const points = [];
  for (let k = 1; k <= count; k++) {
    const s = k / count, u = Math.sin((1 - s) * angle), v = Math.sin(s * angle);
    points.push(unit([0, 1, 2].map((i) => u * a[i] + v * b[i])));
  }
  return points;
}

// The circle a.x + b = 0 on the sphere; none if it misses it.
function neuronCircle(neuron) {
  const length = Math.hypot(...neuron.a), height = -neuron.b / length;
  if (Math.abs(height) >= 1) return [];
  const axis = unit(neuron.a), least = axis.map(Math.abs), smallest = least.indexOf(Math.min(...least));
  const first = unit(cross(axis, [0, 1, 2].map((i) => (i === smallest ? 1 : 0)))), second = cross(axis, first);
  const radius = Math.sqrt(1 - height * height), points = [];
  for (let k = 0; k <= 240; k++) {
    const c = radius * Math.cos((TURN * k) / 240), s = radius * Math.sin((TURN * k) / 240);
    points.push([0, 1, 2].map((i) => height * axis[i] + c * first[i] + s * second[i]));
  }
  return points;
}
