// The sphere on WebGL 2: one mesh, one texture of 16-bit codes a state, colours in the shader.

const MESH_ROWS = 64, MESH_COLUMNS = 128, LOOKUP = 2048;

const VERTEX = `#version 300 es
in vec3 place;
uniform mat3 frame;
uniform vec2 middle, radius;
out vec3 spot;
out vec3 seen;
void main() {
  spot = place;
  seen = frame * place;
  gl_Position = vec4(middle + radius * seen.xy, -0.5 * seen.z, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
in vec3 spot;
in vec3 seen;
out vec4 colour;
uniform usampler2D codes;
uniform sampler2D rows, colours, field, zone;
uniform ivec2 size, fieldSize;
uniform float first, logLow, logStep, low, high, fieldLow, fieldHigh, interval, ratio;
uniform bool isLog, hasDensity, hasField, showField, showContours, showZone;

const float PI = 3.14159265358979;
const vec3 LIGHT = vec3(-0.4507, 0.5008, 0.7391);

// A row beyond a pole is on the opposite meridian.
ivec2 inside(int r, int c, ivec2 n) {
  if (r < 0) { r = -1 - r; c += n.x / 2; }
  if (r >= n.y) { r = 2 * n.y - 1 - r; c += n.x / 2; }
  return ivec2(((c % n.x) + n.x) % n.x, r);
}

float densityAt(int r, int c) {
  uint code = texelFetch(codes, inside(r, c, size), 0).r;
  float logarithm = code == 0u ? -1e9 : logLow + logStep * (float(code) - 1.0);
  return isLog ? max(logarithm, log(low)) : exp(max(logarithm, -80.0));
}

float share(float row, float column) {
  int r = int(floor(row)), c = int(floor(column));
  float u = row - floor(row), v = column - floor(column);
  float value = mix(mix(densityAt(r, c), densityAt(r, c + 1), v),
                    mix(densityAt(r + 1, c), densityAt(r + 1, c + 1), v), u);
  return isLog ? (value - log(low)) / log(high / low) : (value - low) / (high - low);
}

float smoothly(sampler2D values, float theta, float phi) {
  float row = theta / PI * float(fieldSize.y) - 0.5, column = phi / (2.0 * PI) * float(fieldSize.x);
  int r = int(floor(row)), c = int(floor(column));
  float u = row - floor(row), v = column - floor(column);
  return mix(mix(texelFetch(values, inside(r, c, fieldSize), 0).r, texelFetch(values, inside(r, c + 1, fieldSize), 0).r, v),
             mix(texelFetch(values, inside(r + 1, c, fieldSize), 0).r, texelFetch(values, inside(r + 1, c + 1, fieldSize), 0).r, v), u);
}

void main() {
  vec3 p = normalize(spot);
  float theta = atan(length(p.xy), p.z), phi = atan(p.y, p.x);
  vec3 base = vec3(0.94);
  if (showField && hasField) {
    float s = (smoothly(field, theta, phi) - fieldLow) / (fieldHigh - fieldLow);
    base = texture(colours, vec2((255.0 * clamp(s, 0.0, 1.0) + 0.5) / 256.0, 0.75)).rgb;
  } else if (hasDensity) {
    float place = theta / PI * ${LOOKUP - 1}.0;
    int k = int(floor(place));
    float row = mix(texelFetch(rows, ivec2(k, 0), 0).r, texelFetch(rows, ivec2(min(k + 1, ${LOOKUP - 1}), 0), 0).r, place - floor(place));
    float s = share(row, (phi - first) / (2.0 * PI) * float(size.x));
    base = texture(colours, vec2((255.0 * clamp(s, 0.0, 1.0) + 0.5) / 256.0, 0.25)).rgb;
  }
  if (showZone) {
    float largest = smoothly(zone, theta, phi);
    float stripe = mod(gl_FragCoord.x + gl_FragCoord.y, 9.0 * ratio);
    if (largest < 0.0 && stripe < 1.5 * ratio) base = mix(base, vec3(0.5), 0.55);
  }
  if (showContours && hasField) {
    float level = smoothly(field, theta, phi) / interval;
    float away = abs(fract(level - 0.5) - 0.5) / max(fwidth(level), 1e-6);
    base = mix(base, vec3(0.15), 0.6 * (1.0 - smoothstep(0.4, 1.2, away / ratio)));
  }
  float light = 0.82 + 0.18 * max(dot(normalize(seen), LIGHT), 0.0);
  colour = vec4(base * light, 1.0);
}`;

class Globe {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: false, preserveDrawingBuffer: false });
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
    ["codes", "rows", "colours", "field", "zone"].forEach((name, unitNumber) => {
      const texture = gl.createTexture();
      this.textures[name] = { texture, unitNumber };
      gl.activeTexture(gl.TEXTURE0 + unitNumber);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      const filter = name === "colours" ? gl.LINEAR : gl.NEAREST;
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
      gl.uniform1i(this.place(name), unitNumber);
    });
    const both = new Uint8Array(2 * 768);
    both.set(COLOURS); both.set(POTENTIAL, 768);
    this.filled("colours", gl.RGB8, 256, 2, gl.RGB, gl.UNSIGNED_BYTE, both);
    this.filled("codes", gl.R16UI, 1, 1, gl.RED_INTEGER, gl.UNSIGNED_SHORT, new Uint16Array(1));
    this.numbers("rows", LOOKUP, 1, new Float32Array(LOOKUP));
    this.numbers("field", 1, 1, new Float32Array(1));
    this.numbers("zone", 1, 1, new Float32Array(1));
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
        points.push(Math.sin(theta) * Math.cos(phi), Math.sin(theta) * Math.sin(phi), Math.cos(theta));
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
    const where = gl.getAttribLocation(this.program, "place");
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, 3, gl.FLOAT, false, 0, 0);
    this.count = corners.length;
  }

  filled(name, inner, width, height, format, type, data) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + this.textures[name].unitNumber);
    gl.texImage2D(gl.TEXTURE_2D, 0, inner, width, height, 0, format, type, data);
  }

  numbers(name, width, height, data) {
    this.filled(name, this.gl.R32F, width, height, this.gl.RED, this.gl.FLOAT, data);
  }

  // Take a state: its codes are the texture.
  setState(exhibit, k) {
    const { gl } = this, grid = exhibit.gridAt(k);
    gl.uniform1i(this.place("hasDensity"), grid ? 1 : 0);
    if (!grid) return;
    const codes = exhibit.codesAt(k);
    if (grid !== this.grid) {
      this.grid = grid;
      this.numbers("rows", LOOKUP, 1, rowsAgainstColatitude(grid.colatitudes));
      this.filled("codes", gl.R16UI, grid.columns, grid.rows, gl.RED_INTEGER, gl.UNSIGNED_SHORT, codes);
      gl.uniform2i(this.place("size"), grid.columns, grid.rows);
      gl.uniform1f(this.place("first"), grid.first);
    } else {
      gl.activeTexture(gl.TEXTURE0 + this.textures.codes.unitNumber);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, grid.columns, grid.rows, gl.RED_INTEGER, gl.UNSIGNED_SHORT, codes);
    }
    gl.uniform1f(this.place("logLow"), exhibit.logLow);
    gl.uniform1f(this.place("logStep"), exhibit.logStep);
  }

  // Take a landscape: V, and the largest a.x + b of the neurons, which is negative where none is active.
  setLandscape(land) {
    if (land === this.land) return;
    this.land = land;
    const { gl } = this, field = land?.field ?? null, columns = field?.columns ?? 256, rows = field?.rows ?? 128;
    gl.uniform1i(this.place("hasField"), field ? 1 : 0);
    gl.uniform2i(this.place("fieldSize"), columns, rows);
    if (field) {
      this.numbers("field", columns, rows, field.numbers);
      const reach = Math.max(Math.abs(field.low), Math.abs(field.high)) || 1;
      gl.uniform1f(this.place("fieldLow"), -reach);
      gl.uniform1f(this.place("fieldHigh"), reach);
      gl.uniform1f(this.place("interval"), (field.high - field.low) / 12 || 1);
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
    this.numbers("zone", columns, rows, zone);
  }

  // Draw globes: [{frame, x, y, radius}] in CSS pixels, with one scale of colours.
  draw(globes, scale, options) {
    const { gl, canvas } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    gl.viewport(0, 0, ...pixels);
    gl.scissor(0, 0, ...pixels);
    gl.clearColor(1, 1, 1, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform1f(this.place("low"), scale.low);
    gl.uniform1f(this.place("high"), scale.high);
    gl.uniform1i(this.place("isLog"), scale.isLog ? 1 : 0);
    gl.uniform1i(this.place("showField"), options.ground ? 1 : 0);
    gl.uniform1i(this.place("showContours"), options.contours ? 1 : 0);
    gl.uniform1i(this.place("showZone"), options.neurons && this.hasZone ? 1 : 0);
    gl.uniform1f(this.place("ratio"), ratio);
    for (const { frame, x, y, radius } of globes) {
      const [a, b, c] = frame;
      gl.uniformMatrix3fv(this.place("frame"), false, [a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]]);
      gl.uniform2f(this.place("middle"), (2 * x) / width - 1, 1 - (2 * y) / height);
      gl.uniform2f(this.place("radius"), (2 * radius) / width, (2 * radius) / height);
      gl.drawElements(gl.TRIANGLES, this.count, gl.UNSIGNED_SHORT, 0);
    }
  }
}

// Row numbers against the colatitude from 0 to pi; beyond the last ring they run over the pole.
function rowsAgainstColatitude(colatitudes) {
  const n = colatitudes.length, found = new Float32Array(LOOKUP);
  const at = (k) => (k < 0 ? -colatitudes[0] : k >= n ? TURN - colatitudes[n - 1] : colatitudes[k]);
  for (let j = 0, k = -1; j < LOOKUP; j++) {
    const theta = (Math.PI * j) / (LOOKUP - 1);
    while (k < n - 1 && at(k + 1) < theta) k++;
    found[j] = k + (theta - at(k)) / (at(k + 1) - at(k));
  }
  return found;
}
