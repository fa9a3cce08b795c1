// The sphere on WebGL 2: one texture a state; globe.frag finds the point and colour of each pixel.

// One triangle over everything.
const VERTEX = `#version 300 es
void main() { gl_Position = vec4(vec2(4 * (gl_VertexID & 1), 2 * (gl_VertexID & 2)) - 1.0, 0.0, 1.0); }`;

// Rows of cells with one more beyond each pole, which is the first or last on the other side.
function padded({ rows, columns }, cells) {
  const found = new cells.constructor((rows + 2) * columns);
  found.set(cells, columns);
  for (let c = 0; c < columns; c++) {
    const other = (c + (columns >> 1)) % columns;
    found[c] = found[columns + other];
    found[(rows + 1) * columns + c] = found[rows * columns + other];
  }
  return found;
}

// The largest size of a potential: what its bar of colours ends at.
const reachOf = (field) => Math.max(Math.abs(field.low), Math.abs(field.high)) || 1;

class Globe {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, depth: false });
    if (!gl) throw new Error("This browser has no WebGL 2, which the globe needs.");
    this.gl = gl;
    this.program = this.linked();
    gl.useProgram(this.program);
    gl.enable(gl.SCISSOR_TEST);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.columns = [1, 1];
    ["shares", "colours", "field", "zone"].forEach((name, number) => {
      gl.activeTexture(gl.TEXTURE0 + number);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, name === "colours" ? gl.CLAMP_TO_EDGE : gl.REPEAT);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
      gl.uniform1i(this.place(name), number);
      this.fill(number, { rows: 1, columns: 1 }, new Uint8Array(1));
    });
    gl.activeTexture(gl.TEXTURE1);
    const colours = Uint8Array.from([...COLOURS, ...POTENTIAL]);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 2, 0, gl.RGB, gl.UNSIGNED_BYTE, colours);
    this.setDensity(null);
    this.setLandscape(null);
  }

  linked() {
    const { gl } = this, program = gl.createProgram(), fragment = element("fragment").textContent;
    const shaders = [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, fragment]].map(([kind, text]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      return shader;
    });
    gl.linkProgram(program);
    if (gl.getProgramParameter(program, gl.LINK_STATUS)) return program;
    throw new Error(shaders.map((shader) => gl.getShaderInfoLog(shader)).join(""));
  }

  place(name) { return this.gl.getUniformLocation(this.program, name); }

  // Fill a texture with bytes from 0 to 1, or with halves.
  fill(number, grid, cells) {
    const { gl } = this, isByte = cells instanceof Uint8Array;
    const [inner, type] = isByte ? [gl.R8, gl.UNSIGNED_BYTE] : [gl.R16F, gl.HALF_FLOAT];
    gl.activeTexture(gl.TEXTURE0 + number);
    gl.texImage2D(gl.TEXTURE_2D, 0, inner, grid.columns, grid.rows + 2, 0, gl.RED, type, padded(grid, cells));
  }

  // Take places of a density on the bar of colours, as bytes.
  setDensity(grid, bytes) {
    const { gl } = this;
    gl.uniform1i(this.place("hasDensity"), grid ? 1 : 0);
    if (!grid) return;
    this.fill(0, grid, bytes);
    gl.uniform4f(this.place("cells"), grid.first, grid.step, grid.rows, grid.longitude);
    this.columns[0] = grid.columns;
  }

  // Take a landscape: V, and the largest a.x + b of the neurons where that is negative somewhere.
  setLandscape(land) {
    const { gl } = this, field = land?.field, zone = land?.zone, { rows, columns } = field ?? zone ?? { rows: 1, columns: 1 };
    this.hasZone = Boolean(zone);
    this.columns[1] = columns;
    gl.uniform1i(this.place("hasField"), field ? 1 : 0);
    gl.uniform4f(this.place("fieldCells"), (0.5 * Math.PI) / rows, Math.PI / rows, rows, 0);
    if (zone) this.fill(3, zone, zone.bits);
    if (!field) return;
    this.fill(2, field, field.bits);
    gl.uniform1f(this.place("reach"), reachOf(field) / field.unit);
    gl.uniform1f(this.place("interval"), (field.high - field.low) / field.unit / 12 || 1);
  }

  // Draw globes: [{frame, x, y, radius}] in CSS pixels.
  draw(globes, options) {
    const { gl, canvas } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth || canvas.width, height = canvas.clientHeight || canvas.height;
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
      gl.uniformMatrix3fv(this.place("frame"), true, frame.flat());
      gl.uniform3f(this.place("disc"), x * ratio, pixels[1] - y * ratio, radius * ratio);
      gl.scissor(...[x - radius, height - y - radius, 2 * radius, 2 * radius].map((side) => Math.ceil(side * ratio)));
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }
}
