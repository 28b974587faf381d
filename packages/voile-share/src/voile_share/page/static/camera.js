/** What part of the plane is seen: a centre and a scale, in pixels per metre of the plane. */

const FARTHEST = 1e-5;
const NEAREST = 1;
const FLIGHT = 450;

export class Camera {
  /** `moved` is called after each change. */
  constructor(moved) {
    this.x = 0;
    this.y = 0;
    this.scale = 0.02;
    this.width = 1;
    this.height = 1;
    this.moved = moved;
  }

  resize(width, height) {
    [this.width, this.height] = [width, height];
    this.moved();
  }

  /** Where a point of the plane is on the screen. */
  toScreen([x, y]) {
    return [
      this.width / 2 + (x - this.x) * this.scale,
      this.height / 2 - (y - this.y) * this.scale,
    ];
  }

  /** The box of the plane that is seen, and some pixels around it. */
  box(margin = 0) {
    const across = (this.width / 2 + margin) / this.scale;
    const along = (this.height / 2 + margin) / this.scale;
    return [this.x - across, this.y - along, this.x + across, this.y + along];
  }

  /** Move by pixels, as a finger does. */
  pan(right, down) {
    this.land();
    this.x -= right / this.scale;
    this.y += down / this.scale;
    this.moved();
  }

  /** Zoom by a factor; the place under a point of the screen stays. */
  zoom(factor, at = [this.width / 2, this.height / 2]) {
    this.land();
    const scale = clamped(this.scale * factor);
    const [right, down] = [at[0] - this.width / 2, at[1] - this.height / 2];
    this.x += right / this.scale - right / scale;
    this.y -= down / this.scale - down / scale;
    this.scale = scale;
    this.moved();
  }

  /** The view of a box of the plane, as {x, y, scale}; `share` of the screen is left around it. */
  viewOf([west, south, east, north], share = 0.1) {
    const room = 1 - 2 * share;
    const scale = Math.min(
      (room * this.width) / Math.max(east - west, 1),
      (room * this.height) / Math.max(north - south, 1),
    );
    return { x: (west + east) / 2, y: (south + north) / 2, scale: clamped(scale) };
  }

  /** Go to a view: in a short flight, or at once where motion is not wanted. */
  go({ x = this.x, y = this.y, scale = this.scale }, { flying = true } = {}) {
    this.land();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = { x: this.x, y: this.y, scale: this.scale };
    const screens = Math.hypot(x - from.x, y - from.y) * Math.min(scale, from.scale) / this.width;
    if (!flying || still || screens > 3) {
      Object.assign(this, { x, y, scale });
      this.moved();
      return;
    }
    const begin = performance.now();
    const step = (now) => {
      const share = Math.min(1, Math.max(0, (now - begin) / FLIGHT));
      const eased = 1 - (1 - share) ** 3;
      this.x = from.x + (x - from.x) * eased;
      this.y = from.y + (y - from.y) * eased;
      this.scale = from.scale * (scale / from.scale) ** eased;
      this.flight = share < 1 ? requestAnimationFrame(step) : null;
      this.moved();
    };
    this.flight = requestAnimationFrame(step);
  }

  /** End a flight where it is. */
  land() {
    if (this.flight) cancelAnimationFrame(this.flight);
    this.flight = null;
  }
}

const clamped = (scale) => Math.max(FARTHEST, Math.min(NEAREST, scale));
