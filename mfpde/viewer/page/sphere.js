// The sphere seen from a side: a camera, great circles, the circles of neurons.

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const sum = (...terms) => [0, 1, 2].map((i) => terms.reduce((total, [c, a]) => total + c * a[i], 0));
const unit = (a) => sum([1 / (Math.hypot(...a) || 1), a]);
const pointAt = (theta, phi) => [Math.sin(theta) * Math.cos(phi), Math.sin(theta) * Math.sin(phi), Math.cos(theta)];

// The direction that a viewer looks from: longitude and latitude; rows of the frame are
// right, up and towards the viewer.
class Camera {
  constructor(longitude = 0, latitude = Math.PI / 9, zoom = 1) { Object.assign(this, { longitude, latitude, zoom }); }

  // Onto the middle of a mass of 1, where that is clear of the centre.
  static towards([x, y, z]) {
    return Math.hypot(x, y, z) < 0.3 ? new Camera() : new Camera(Math.atan2(y, x), Math.atan2(z, Math.hypot(x, y)));
  }

  frame(isBack = false) {
    const { longitude: l, latitude: b } = this, near = pointAt(Math.PI / 2 - b, l), right = [-Math.sin(l), Math.cos(l), 0];
    const s = isBack ? -1 : 1;
    return [sum([s, right]), cross(near, right), sum([s, near])];
  }

  turn(right, up) {
    this.longitude = (this.longitude + right) % TURN;
    this.latitude = clamp(this.latitude + up, -Math.PI / 2, Math.PI / 2);
  }
}

// The circle axis.x = height on the sphere.
function circleAt(axis, height) {
  const sizes = axis.map(Math.abs), smallest = sizes.indexOf(Math.min(...sizes));
  const first = unit(cross(axis, [0, 1, 2].map((i) => (i === smallest ? 1 : 0)))), second = cross(axis, first);
  const radius = Math.sqrt(1 - height * height), steps = 240;
  return Array.from({ length: steps + 1 }, (_, k) => {
    const angle = (TURN * k) / steps;
    return sum([height, axis], [radius * Math.cos(angle), first], [radius * Math.sin(angle), second]);
  });
}

// The circle a.x + b = 0 on the sphere; none if it misses it.
function circleOfNeuron({ a, b }) {
  const height = -b / Math.hypot(...a);
  return Math.abs(height) < 1 ? circleAt(unit(a), height) : [];
}

// Parallels and meridians every 30 degrees.
const GRATICULE = [
  ...[-60, -30, 0, 30, 60].map((degrees) => circleAt([0, 0, 1], Math.sin((degrees * Math.PI) / 180))),
  ...[0, 30, 60, 90, 120, 150].map((degrees) => circleAt(pointAt(Math.PI / 2, (degrees * Math.PI) / 180), 0)),
];

// Points of a path up to a time, and on the sphere between them.
function pathUntil({ times, places }, time) {
  const seen = places.filter((_, i) => times[i] <= time * (1 + 1e-12) + 1e-12), shares = [0.2, 0.4, 0.6, 0.8, 1];
  return seen.flatMap((place, i) => (i ? shares.map((s) => unit(sum([1 - s, seen[i - 1]], [s, place]))) : [place]));
}
