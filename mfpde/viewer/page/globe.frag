#version 300 es
precision highp float;
out vec4 colour;
uniform sampler2D shares, colours, field, zone;
uniform vec4 cells, fieldCells;
uniform vec2 columns;
uniform vec3 disc;  // middle and radius, in pixels
uniform mat3 frame;
uniform float reach, interval, ratio;
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
  vec2 off = (gl_FragCoord.xy - disc.xy) / disc.z;
  float edge = disc.z * (1.0 - length(off)) + 0.5;
  if (edge <= 0.0) discard;
  vec3 seen = vec3(off, sqrt(max(0.0, 1.0 - dot(off, off)))), spot = seen * frame;
  float theta = angle(length(spot.xy), spot.z), phi = angle(spot.y, spot.x);
  vec2 here = spotIn(cells, theta, phi, columns.x), there = spotIn(fieldCells, theta, phi, columns.y);
  vec3 base = vec3(0.94);
  if (showField && hasField) {
    float s = 0.5 + 0.5 * textureLod(field, there, 0.0).r / reach;
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
  base *= 0.82 + 0.18 * max(dot(seen, LIGHT), 0.0);
  colour = vec4(mix(vec3(1.0), base, min(edge, 1.0)), 1.0);
}
