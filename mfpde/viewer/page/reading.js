// The numbers of a page: base64, inflated by the browser, back to states.

const TOLD = JSON.parse(document.getElementById("runs").textContent);

async function inflated(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = text.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// One run with its saved states.
class Exhibit {
  static async read(index) {
    const bytes = await inflated(`numbers-${index}`);
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const description = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    return new Exhibit(index, description, bytes.subarray(4 + length));
  }

  constructor(index, description, data) {
    Object.assign(this, TOLD.runs[index], description);
    this.index = index;
    this.data = data;
    const frames = this.frames;
    this.times = frames.times;
    this.codes = this.readCodes(frames.density);
    this.logLow = Math.log(frames.low);
    this.logStep = (Math.log(frames.high) - this.logLow) / 65534;
    this.table = new Float32Array(65536);
    for (let c = 1; c < 65536; c++) this.table[c] = Math.exp(this.logLow + this.logStep * (c - 1));
    this.starts = [];
    let at = 0;
    for (const grid of frames.gridOf) {
      this.starts.push(at);
      if (grid >= 0) at += this.cellsOf(frames.grids[grid]);
    }
    this.highs = this.times.map((_, k) => this.highestIn(k));
    this.atomPlaces = this.readFloats(frames.atoms.places);
    this.atomMasses = this.readFloats(frames.atoms.masses);
    this.atomStarts = [];
    at = 0;
    for (const count of frames.atoms.counts) { this.atomStarts.push(at); at += count; }
    for (const land of this.landscapes) {
      if (land.field) land.field.numbers = this.readFloats(land.field.values);
    }
  }

  cellsOf(grid) { return grid.n ?? grid.rows * grid.columns; }

  readCodes(place) {
    if (!place) return new Uint16Array(0);
    const { at, count } = place, data = this.data, codes = new Uint16Array(count);
    for (let k = 0, code = 0; k < count; k++) {
      code = (code + (data[at + k] << 8) + data[at + count + k]) & 65535;
      codes[k] = code;
    }
    return codes;
  }

  readFloats(place) {
    if (!place) return new Float32Array(0);
    return new Float32Array(this.data.slice(place.at, place.at + 4 * place.count).buffer);
  }

  gridAt(k) { return this.frames.grids[this.frames.gridOf[k]] ?? null; }

  // Codes of the density at the k-th state.
  codesAt(k) {
    const grid = this.gridAt(k);
    return grid ? this.codes.subarray(this.starts[k], this.starts[k] + this.cellsOf(grid)) : null;
  }

  highestIn(k) {
    const codes = this.codesAt(k);
    if (!codes) return 0;
    let highest = 0;
    for (let c = 0; c < codes.length; c++) if (codes[c] > highest) highest = codes[c];
    return this.table[highest];
  }

  // Atoms that the state itself carries: [{place, mass}], in crowds too.
  atomsAt(k) {
    const size = this.domain === "sphere" ? 3 : 1, found = [];
    for (let i = this.atomStarts[k]; i < this.atomStarts[k] + this.frames.atoms.counts[k]; i++) {
      found.push({ place: this.atomPlaces.subarray(size * i, size * (i + 1)), mass: this.atomMasses[i] });
    }
    return found;
  }

  // Atoms that were followed, as they are at the k-th state.
  seenAt(k) { return this.track ? this.track.seen[k] : []; }

  // The last state at or before a time.
  stateAt(time) {
    const slack = 1e-9 * Math.max(1, Math.abs(time));
    let low = 0, high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= time + slack) low = middle; else high = middle - 1;
    }
    return low;
  }

  // The landscape of the layer that acts just before a time, as the saved state has it.
  landscapeAt(time) {
    for (const land of this.landscapes) {
      if (land.to === null || time <= land.to + 1e-12) return time < land.from ? null : land;
    }
    return null;
  }
}
