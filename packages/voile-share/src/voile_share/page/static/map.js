/** The map of the page: camera, drawing, gestures and buttons put together. */

import { Camera } from "./camera.js";
import { Drawing } from "./drawing.js";
import { listen } from "./gestures.js";
import { course, near, project, stretch } from "./plane.js";
import { radius } from "./uncertainty.js";

/** The circle takes no more than this share of the view at first. */
const CIRCLE = 0.5;
const NEAREST = 0.12;
/** Metres within which a place is near. */
const NEARBY = 15_000;
/** Metres around the destination where the parcel is nowhere. */
const AROUND = 1_500;

export class ParcelMap {
  constructor(surface, canvas, buttons) {
    this.camera = new Camera(() => this.drawing?.soon());
    this.drawing = new Drawing(canvas, this.camera);
    this.buttons = buttons;
    this.following = true;
    listen(surface, this.camera, () => this.follow(false), () => this.home());
    buttons.closer.addEventListener("click", () => this.camera.zoom(1.6));
    buttons.farther.addEventListener("click", () => this.camera.zoom(1 / 1.6));
    buttons.parcel.addEventListener("click", () => this.home());
    new ResizeObserver(() => {
      this.camera.resize(surface.clientWidth, surface.clientHeight);
      if (this.following) this.look({ flying: false });
    }).observe(surface);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => {
      this.drawing.recolor();
      this.drawing.soon();
    });
  }

  /** Lay roads under it; null where there are none. */
  show(roads) {
    this.roads = roads;
    this.drawing.show(roads);
    this.place();
    if (this.following) this.look({ flying: false });
  }

  /** Show where the parcel was seen, the last sighting at the end; `faded` where that is old. */
  see(sightings, faded) {
    const before = this.drawing.sightings.at(-1);
    this.sightings = sightings;
    this.drawing.faded = faded;
    this.place();
    const last = this.drawing.sightings.at(-1);
    this.buttons.parcel.disabled = !last;
    const moved = last && (!before || before.at[0] !== last.at[0] || before.at[1] !== last.at[1]);
    if (moved && this.following) this.look({ flying: Boolean(before) });
    this.drawing.soon();
  }

  /** The name of the place that is nearest to a sighting; null where the map has none nearby. */
  placeNear(sighting) {
    const far = (one) => course(one, sighting).metres;
    const places = (this.roads?.places ?? []).filter((one) => far(one) < NEARBY);
    return places.reduce((best, one) => (best && far(best) <= far(one) ? best : one), null)?.name ?? null;
  }

  /** Mark where the parcel goes: {latitude, longitude}, or null where that is not said. */
  mark(destination) {
    if (this.destination?.latitude === destination?.latitude
      && this.destination?.longitude === destination?.longitude) return;
    this.destination = destination;
    this.place();
    if (!this.drawing.sightings.length && this.following) this.look({ flying: false });
    this.drawing.soon();
  }

  /** Sightings as points of the plane, on the map's side of the date line. */
  place() {
    const middle = this.roads ? (this.roads.reach[0] + this.roads.reach[2]) / 2 : 0;
    this.drawing.sightings = (this.sightings ?? []).map((seen) => ({
      at: near(project(seen.latitude, seen.longitude), middle),
      radius: radius(seen.epsilon),
    }));
    const goal = this.destination;
    this.drawing.goal = goal ? near(project(goal.latitude, goal.longitude), middle) : null;
  }

  home() {
    this.follow(true);
    this.look();
  }

  follow(following) {
    this.following = following;
    this.buttons.parcel.setAttribute("aria-pressed", `${following}`);
  }

  /** Look at the parcel, or at the whole map where it is nowhere. */
  look(how) {
    const last = this.drawing.sightings.at(-1);
    if (last) {
      const reach = last.radius * stretch(last.at[1]);
      const [x, y] = last.at;
      const view = this.camera.viewOf([x - reach, y - reach, x + reach, y + reach], (1 - CIRCLE) / 2);
      this.camera.go({ ...view, scale: Math.min(view.scale, NEAREST) }, how);
    } else if (this.drawing.goal) {
      const [x, y] = this.drawing.goal;
      this.camera.go(this.camera.viewOf([x - AROUND, y - AROUND, x + AROUND, y + AROUND], 0.1), how);
    } else if (this.roads) {
      this.camera.go(this.camera.viewOf(this.roads.reach, 0.02), { flying: false });
    }
  }
}
