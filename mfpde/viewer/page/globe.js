// The sphere on WebGL 2: one mesh, one texture a state, colours in the shader.

// Many triangles are dear on a software renderer; angles come from each pixel, so that few do.
const MESH_ROWS = 32, MESH_COLUMNS = 64;

const VERTEX = `#version 300 es
in vec2 angles;
uniform mat3 frame;
uniform vec2 middle, radius;
out vec3 seen;
out vec3 spot;
void main() {
  spot = vec3(sin(angles.x) * cos(angles.y), sin(angles.x) * sin(angles.y), cos(angles.x));
  seen = frame * spot;
  gl_Position = vec4(middle + radius * seen.xy, -0.5 * seen.z, 1.0);
}`;

// Textures are filtered by the hardware: the density comes as places on the bar of colours.
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 seen;
in vec3 spot;
out vec4 colour;
uniform sampler2D shares, colours, field, zone;
uniform vec4 cells, fieldCells;
uniform vec2 columns;
uniform float fieldLow, fieldHigh, interval, ratio;
uniform bool hasDensity, hasField, showField, showContours, showZone;

const vec3 LIGHT = vec3(-0.4507, 0.5008, 0.7391);

// Angle of (x, y) to 1e-5, with fewer instructions than the built-in one.
float angle(float y, float x) {
  float a = abs(x), b = abs(y), t = min(a, b) / max(max(a, b), 1e-20), s = t * t;
  float r = t * (0.99997726 + s * (-0.33262347 + s * (0.19354346 + s * (-0.11643287 + s * (0.05265332 - s * 0.01172120)))));
  if (b > a) r = 1.57079633 - r;
  if (x < 0.0) r = 3.14159265 - r;
  return y < 0.0 ? -r : r;
}

// Where in a texture that has a row more at either pole; cells = first colatitude, step, rows, first longitude.
vec2 spotIn(vec4 cells, float theta, float phi, float columns) {
  return vec2((phi - cells.w) / 6.2831853 + 0.5 / columns, ((theta - cells.x) / cells.y + 1.5) / (cells.z + 2.0));
}

void main() {
  float theta = angle(length(spot.xy), spot.z), phi = angle(spot.y, spot.x);
  vec2 here = spotIn(cells, theta, phi, columns.x), there = spotIn(fieldCells, theta, phi, columns.y);
  vec3 base = vec3(0.94);
  if (showField && hasField) {
    float s = (textureLod(field, there, 0.0).r - fieldLow) / (fieldHigh - fieldLow);
    base = textureLod(colours, vec2((255.0 * clamp(s, 0.0, 1.0) + 0.5) / 256.0, 0.75), 0.0).rgb;
  } else if (hasDensity) {
    float s = textureLod(shares, here, 0.0).r;
    base = textureLod(colours, vec2((255.0 * s + 0.5) / 256.0, 0.25), 0.0).rgb;
  }
  if (showZone) {
    float stripe = mod(gl_FragCoord.x + gl_FragCoord.y, 9.0 * ratio);
    if (stripe < 1.5 * ratio && textureLod(zone, there, 0.0).r < 0.0) base = mix(base, vec3(0.5), 0.55);
  }
  if (showContours && hasField) {
    float level = textureLod(field, there, 0.0).r / interval;
    // Between whole steps, so that a dead zone, where V = 0, is no contour as a whole.
    float away = abs(fract(level) - 0.5) / max(fwidth(level), 1e-6);
    base = mix(base, vec3(0.15), 0.6 * (1.0 - smoothstep(0.4, 1.2, away / ratio)));
  }
  colour = vec4(base * (0.82 + 0.18 * max(dot(seen, LIGHT), 0.0)), 1.0);
}`;

// Bits of half-precision numbers, which every WebGL 2 filters.
const halfBits = (() => {
  const number = new Float32Array(1), bits = new Uint32Array(number.buffer);
  return (value) => {
    number[0] = Math.max(-65504, Math.min(65504, value));
    const sign = (bits[0] >>> 16) & 0x8000, exponent = ((bits[0] >>> 23) & 255) - 112, rest = bits[0] & 0x7fffff;
    if (exponent <= 0) return sign;
    return sign + Math.min(0x7bff, (exponent << 10) + ((rest + 0x1000) >>> 13));
  };
})();

// Rows of cells with one more beyond each pole, which is the first or last on the other side.
function padded(rows, columns, take) {
  const found = new Uint16Array((rows + 2) * columns), half = columns >> 1;
  for (let k = 0, n = rows * columns; k < n; k++) found[columns + k] = take(k);
  for (let c = 0; c < columns; c++) {
    const other = (c + half) % columns;
    found[c] = found[columns + other];
    found[(rows + 1) * columns + c] = found[rows * columns + other];
  }
  return found;
}

class Globe {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, depth: false, preserveDrawingBuffer: false });
    if (!gl) throw new Error("This browser has no WebGL 2, which the globe needs.");
    this.gl = gl;
    this.program = this.linked();
    this.places = {};
    gl.useProgram(this.program);
    this.mesh();
    gl.enable(gl.CULL_FACE);
    gl.enable(gl.SCISSOR_TEST);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.textures = {};
    ["shares", "colours", "field", "zone"].forEach((name, unitNumber) => {
      const texture = gl.createTexture();
      this.textures[name] = { texture, unitNumber };
      gl.activeTexture(gl.TEXTURE0 + unitNumber);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, name === "colours" ? gl.CLAMP_TO_EDGE : gl.REPEAT);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
      gl.uniform1i(this.place(name), unitNumber);
    });
    const both = new Uint8Array(2 * 768);
    both.set(COLOURS); both.set(POTENTIAL, 768);
    this.filled("colours", gl.RGB8, 256, 2, gl.RGB, gl.UNSIGNED_BYTE, both);
    for (const name of ["shares", "field", "zone"]) this.halves(name, 1, 1, new Uint16Array(1));
    this.columns = [1, 1];
    this.halfOf = new Uint16Array(65536);
    this.grid = null;
    this.land = undefined;
  }

  linked() {
    const { gl } = this, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    return program;
  }

  place(name) { return (this.places[name] ??= this.gl.getUniformLocation(this.program, name)); }

  mesh() {
    const { gl } = this, points = [], corners = [];
    for (let r = 0; r <= MESH_ROWS; r++) {
      for (let c = 0; c <= MESH_COLUMNS; c++) {
        const theta = (Math.PI * r) / MESH_ROWS, phi = (TURN * c) / MESH_COLUMNS;
        points.push(theta, phi);
        if (r < MESH_ROWS && c < MESH_COLUMNS) {
          const a = r * (MESH_COLUMNS + 1) + c, b = a + MESH_COLUMNS + 1;
          corners.push(a, b, a + 1, a + 1, b, b + 1);
        }
      }
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.STATIC_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(corners), gl.STATIC_DRAW);
    const where = gl.getAttribLocation(this.program, "angles");
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, 2, gl.FLOAT, false, 0, 0);
    this.count = corners.length;
  }

  filled(name, inner, width, height, format, type, data) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + this.textures[name].unitNumber);
    gl.texImage2D(gl.TEXTURE_2D, 0, inner, width, height, 0, format, type, data);
  }

  halves(name, width, height, data) {
    this.filled(name, this.gl.R16F, width, height, this.gl.RED, this.gl.HALF_FLOAT, data);
  }

  // Take a state in a scale of colours: its codes become places on the bar, and those the texture.
  setState(exhibit, k, scale) {
    const { gl } = this, grid = exhibit.gridAt(k);
    gl.uniform1i(this.place("hasDensity"), grid ? 1 : 0);
    if (!grid) return;
    this.setScale(exhibit, scale);
    const codes = exhibit.codesAt(k), { halfOf } = this, { rows, columns, colatitudes } = grid;
    const texture = padded(rows, columns, (i) => halfOf[codes[i]]);
    if (grid !== this.grid) {
      this.grid = grid;
      this.halves("shares", columns, rows + 2, texture);
      // Gauss-Legendre rings are evenly spaced to a fiftieth of a row.
      const step = (colatitudes[rows - 1] - colatitudes[0]) / (rows - 1);
      gl.uniform4f(this.place("cells"), colatitudes[0], step, rows, grid.first);
      this.columns[0] = columns;
      return;
    }
    gl.activeTexture(gl.TEXTURE0 + this.textures.shares.unitNumber);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, columns, rows + 2, gl.RED, gl.HALF_FLOAT, texture);
  }

  // The place of each code on the bar of colours, made anew only when the scale changes.
  setScale(exhibit, scale) {
    const key = [scale.low, scale.high, scale.isLog].join();
    if (key === this.scaleKey) return;
    this.scaleKey = key;
    for (let code = 0; code < 65536; code++) this.halfOf[code] = halfBits(Math.max(0, Math.min(1, scale.at(exhibit.table[code]))));
  }

  // Take a landscape: V, and the largest a.x + b of the neurons, which is negative where none is active.
  setLandscape(land) {
    if (land === this.land) return;
    this.land = land;
    const { gl } = this, field = land?.field ?? null, columns = field?.columns ?? 256, rows = field?.rows ?? 128;
    gl.uniform1i(this.place("hasField"), field ? 1 : 0);
    gl.uniform4f(this.place("fieldCells"), (0.5 * Math.PI) / rows, Math.PI / rows, rows, 0);
    this.columns[1] = columns;
    if (field) {
      this.halves("field", columns, rows + 2, padded(rows, columns, (i) => halfBits(field.numbers[i] / unitOf(field))));
      gl.uniform1f(this.place("fieldLow"), -1);
      gl.uniform1f(this.place("fieldHigh"), 1);
      gl.uniform1f(this.place("interval"), (field.high - field.low) / unitOf(field) / 12 || 1);
    }
    this.hasZone = false;
    if (!land?.neurons.length) return;
    const zone = new Float32Array(rows * columns);
    for (let r = 0; r < rows; r++) {
      const theta = ((r + 0.5) * Math.PI) / rows, s = Math.sin(theta), z = Math.cos(theta);
      for (let c = 0; c < columns; c++) {
        const phi = (TURN * c) / columns, p = [s * Math.cos(phi), s * Math.sin(phi), z];
        let largest = -Infinity;
        for (const n of land.neurons) largest = Math.max(largest, dot(n.a, p) + n.b);
        zone[r * columns + c] = largest;
        if (largest < 0) this.hasZone = true;
      }
    }
    this.halves("zone", columns, rows + 2, padded(rows, columns, (i) => halfBits(zone[i])));
  }

  // Draw globes: [{frame, x, y, radius}] in CSS pixels.
  draw(globes, options) {
    const { gl, canvas } = this, ratio = options.sharpness * Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    gl.viewport(0, 0, ...pixels);
    gl.scissor(0, 0, ...pixels);
    gl.clearColor(1, 1, 1, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform1i(this.place("showField"), options.ground ? 1 : 0);
    gl.uniform1i(this.place("showContours"), options.contours ? 1 : 0);
    gl.uniform1i(this.place("showZone"), options.neurons && this.hasZone ? 1 : 0);
    gl.uniform1f(this.place("ratio"), ratio);
    gl.uniform2f(this.place("columns"), ...this.columns);
    for (const { frame, x, y, radius } of globes) {
      const [a, b, c] = frame;
      gl.uniformMatrix3fv(this.place("frame"), false, [a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]]);
      gl.uniform2f(this.place("middle"), (2 * x) / width - 1, 1 - (2 * y) / height);
      gl.uniform2f(this.place("radius"), (2 * radius) / width, (2 * radius) / height);
      gl.drawElements(gl.TRIANGLES, this.count, gl.UNSIGNED_SHORT, 0);
    }
  }
}

// The largest size of a potential, its unit in textures and colours.
const unitOf = (field) => Math.max(Math.abs(field.low), Math.abs(field.high)) || 1;
