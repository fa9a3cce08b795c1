// The numbers of a page: base64, inflated by the browser, back to states.

const TOLD = JSON.parse(document.getElementById("runs").textContent);

async function inflated(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The 16-bit numbers of IEEE 754 by their bits.
const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction / 2 ** 24;
  return bits & 32768 ? -size : size;
});

// Bits of halves, kept as differences, high bytes first.
function bitsAt(data, { at, count }) {
  const bits = new Uint16Array(count);
  for (let k = 0, sum = 0; k < count; k++) {
    sum += (data[at + k] << 8) + data[at + count + k];
    bits[k] = sum;
  }
  return bits;
}

const numbersOf = (bits, unit, base = 0) => Float32Array.from(bits, (b) => base + unit * HALVES[b]);

const singlesAt = (data, place) =>
  new Float32Array(data.slice(place.at, place.at + 4 * place.count).buffer);

// One run with its saved states.
class Exhibit {
  static async read(index) {
    const bytes = await inflated(`numbers-${index}`), length = new DataView(bytes.buffer).getUint32(0, true);
    const description = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    return new Exhibit(index, description, bytes.subarray(4 + length));
  }

  constructor(index, description, data) {
    Object.assign(this, TOLD.runs[index], description);
    const { frames } = this, { density, atoms } = frames;
    this.times = frames.times;
    this.unit = density?.unit;
    const bits = density && bitsAt(data, density);
    const size = frames.grid ? frames.grid.rows * frames.grid.columns : 0;
    this.bits = frames.times.map((_, k) => bits?.subarray(k * size, (k + 1) * size));
    this.places = singlesAt(data, atoms.places);
    this.masses = singlesAt(data, atoms.masses);
    let at = 0;
    this.starts = atoms.counts.map((count) => (at += count) - count);
    for (const land of this.landscapes) {
      for (const part of [land.field, land.zone]) if (part) part.bits = bitsAt(data, part);
      if (land.field) land.field.values = numbersOf(land.field.bits, land.field.unit);
    }
  }

  // The density at the k-th state: its grid and values, row by row; null if it has none.
  densityAt(k) {
    if (this.last?.k !== k) this.last = this.bits[k] && { k, ...this.frames.grid, values: numbersOf(this.bits[k], this.unit, this.frames.base) };
    return this.last;
  }

  // Places of the density's values on a bar of colours.
  bytesAt(k, scale) {
    const density = this.densityAt(k);
    return density && Uint8Array.from(density.values, (value) => byteOf(scale.at(value)));
  }

  // Atoms that the state carries, particles too.
  atomsAt(k) {
    const size = this.domain === "sphere" ? 3 : 1;
    return Array.from({ length: this.frames.atoms.counts[k] }, (_, number) => {
      const i = this.starts[k] + number, mass = this.masses[i];
      return { place: this.places.subarray(size * i, size * (i + 1)), mass, arrived: mass, isOwn: true };
    });
  }

  // Atoms with marks: those that were followed, else those that the state carries (no crowd).
  markedAt(k) {
    const seen = (this.track?.seen[k] ?? []).filter((atom) => atom.identity > 0);
    const { counts, areParticles } = this.frames.atoms;
    return seen.length || (areParticles && counts[k] > 20) ? seen : this.atomsAt(k);
  }

  // The last state at or before a time.
  stateAt(time) { return lastAt(this.times, time); }

  // The landscape of the layer that acts just before a time, as the saved state has it.
  landscapeAt(time) {
    const land = this.landscapes.find(({ to }) => to === null || time <= to + 1e-12);
    return land && time >= land.from ? land : null;
  }
}

// Index of the last of some times that is not after a time; 0 if all are.
function lastAt(times, time) {
  const limit = time + 1e-9 * Math.max(1, Math.abs(time));
  return Math.max(0, times.findLastIndex((t) => t <= limit));
}
