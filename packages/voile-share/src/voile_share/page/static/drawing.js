/**
 * Draws the map on a canvas, in two dimensions and without a GPU.
 *
 * Roads are drawn to a canvas of their own, larger than the view.  While the view moves that picture
 * is moved along; it is drawn anew when the view rests, or has left it.
 */

import { overlap, writeNames } from "./labels.js";
import { near, stretch } from "./plane.js";

/** Width in pixels, and the scale (pixels per metre) from which on a rank is drawn. */
const RANKS = {
  motorway: { width: 3.4, from: 0, color: "--road-great", edge: "--road-great-edge" },
  primary: { width: 2.8, from: 0, color: "--road-main", edge: "--road-edge" },
  secondary: { width: 2.2, from: 0.004, color: "--road-main", edge: "--road-edge" },
  tertiary: { width: 1.7, from: 0.01, color: "--road-main", edge: "--road-edge" },
  street: { width: 1.2, from: 0.022, color: "--road", edge: "--road-edge" },
  service: { width: 0.8, from: 0.07, color: "--road", edge: null },
};
const MARGIN = 160;
const REST = 90;
/** A path of many lines is drawn in parts: rasterizers slow down on long ones. */
const PART = 200;

export class Drawing {
  constructor(canvas, camera) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.camera = camera;
    this.roads = null;
    this.picture = { canvas: document.createElement("canvas"), camera: null };
    this.sightings = [];
    /** Where the parcel goes, as a point of the plane; or null. */
    this.goal = null;
    this.faded = false;
    this.recolor();
  }

  /** Read the colours of the style sheet, which knows of dark mode. */
  recolor() {
    const style = getComputedStyle(document.documentElement);
    this.color = (name) => style.getPropertyValue(name).trim();
    this.picture.camera = null;
  }

  show(roads) {
    this.roads = roads;
    this.picture.camera = null;
    this.soon();
  }

  /** Draw once in the next frame, however often it is asked for. */
  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { camera, canvas, context } = this;
    const density = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [camera.width, camera.height].map((side) => Math.round(side * density));
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      this.picture.camera = null;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.color("--ground");
    context.fillRect(0, 0, width, height);
    if (this.roads) this.layRoads(density);
    context.setTransform(density, 0, 0, density, 0, 0);
    this.drawGoal();
    this.drawSightings();
    this.drawScale();
  }

  layRoads(density) {
    const { picture, camera, context } = this;
    const stale = picture.camera === null || !covers(picture, camera);
    if (stale) this.paintRoads(density);
    const at = picture.camera;
    const factor = camera.scale / at.scale;
    const [x, y] = camera.toScreen([at.box[0], at.box[3]]);
    context.imageSmoothingEnabled = factor !== 1;
    context.drawImage(
      picture.canvas, x * density, y * density,
      picture.canvas.width * factor, picture.canvas.height * factor,
    );
    clearTimeout(this.resting);
    if (factor !== 1) {
      this.resting = setTimeout(() => {
        picture.camera = null;
        this.soon();
      }, REST);
    }
  }

  paintRoads(density) {
    const { picture, camera, roads } = this;
    const [width, height] = [camera.width + 2 * MARGIN, camera.height + 2 * MARGIN];
    [picture.canvas.width, picture.canvas.height] = [width * density, height * density];
    picture.camera = { scale: camera.scale, box: camera.box(MARGIN) };
    const context = picture.canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.lineJoin = "round";
    context.lineCap = "round";
    const shown = roads.layers.filter(
      ({ rank }, at) => camera.scale >= RANKS[rank].from || at === roads.layers.length - 1,
    );
    const grown = Math.min(3.2, Math.max(0.75, (camera.scale / 0.05) ** 0.4));
    const strokes = shown.map(({ rank, pieces }) => ({
      ...RANKS[rank], pieces: pieces.filter((one) => overlap(one.box, picture.camera.box)),
    }));
    // From afar roads are too narrow to have edges, and too pale without.
    const edged = grown > 0.9;
    for (const { edge, width: own, pieces } of edged ? strokes : []) {
      if (edge) this.stroke(context, pieces, edge, own * grown + 1.6);
    }
    for (const { color, width: own, pieces } of strokes) {
      const seen = edged || color === "--road-great" ? color : "--road-far";
      this.stroke(context, pieces, seen, own * grown);
    }
    const colors = { halo: this.color("--ground"), place: this.color("--text"), street: this.color("--soft") };
    writeNames(context, roads, picture.camera, colors);
  }

  stroke(context, pieces, color, width) {
    const { scale, box } = this.picture.camera;
    context.strokeStyle = this.color(color);
    context.lineWidth = width;
    for (let first = 0; first < pieces.length; first += PART) {
      context.beginPath();
      for (const { points } of pieces.slice(first, first + PART)) {
        context.moveTo((points[0] - box[0]) * scale, (box[3] - points[1]) * scale);
        for (let at = 2; at < points.length; at += 2) {
          context.lineTo((points[at] - box[0]) * scale, (box[3] - points[at + 1]) * scale);
        }
      }
      context.stroke();
    }
  }

  /** A pin whose tip is at the destination. */
  drawGoal() {
    if (!this.goal) return;
    const { context, camera } = this;
    const [x, y] = camera.toScreen(near(this.goal, camera.x));
    context.beginPath();
    context.moveTo(x, y);
    context.bezierCurveTo(x - 4, y - 8, x - 9, y - 12, x - 9, y - 18);
    context.arc(x, y - 18, 9, Math.PI, 0);
    context.bezierCurveTo(x + 9, y - 12, x + 4, y - 8, x, y);
    context.fillStyle = this.color("--goal");
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = this.color("--panel");
    context.stroke();
    disc(context, x, y - 18, 3.5);
    context.fillStyle = this.color("--panel");
    context.fill();
  }

  /** The last sighting as a disc of its uncertainty, those before as dots. */
  drawSightings() {
    const { context, camera } = this;
    const last = this.sightings.length - 1;
    const color = this.color(this.faded ? "--parcel-old" : "--parcel");
    const screens = this.sightings.map(({ at }) => camera.toScreen(near(at, camera.x)));
    context.fillStyle = color;
    screens.slice(0, last).forEach(([x, y], place) => {
      context.globalAlpha = 0.15 + (0.35 * (place + 1)) / last;
      disc(context, x, y, 3.5);
      context.fill();
    });
    context.globalAlpha = 1;
    if (last < 0) return;
    const [x, y] = screens[last];
    const { radius, at } = this.sightings[last];
    const size = Math.max(radius * stretch(at[1]) * camera.scale, 9);
    disc(context, x, y, size);
    context.globalAlpha = 0.16;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.strokeStyle = color;
    context.setLineDash(this.faded ? [6, 6] : []);
    context.stroke();
    context.setLineDash([]);
    disc(context, x, y, 6);
    context.fill();
    context.strokeStyle = this.color("--panel");
    context.stroke();
  }

  /** A bar of a round length. */
  drawScale() {
    const { context, camera } = this;
    const metre = camera.scale * stretch(camera.y);
    const most = Math.min(120, camera.width / 3) / metre;
    const power = 10 ** Math.floor(Math.log10(most));
    const metres = power * [5, 2, 1].find((step) => step * power <= most);
    const [left, bottom, length] = [12.5, camera.height - 12.5, Math.round(metres * metre)];
    context.font = "12px system-ui, sans-serif";
    context.lineJoin = "round";
    const name = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
    for (const [color, wide] of [["--ground", 4], ["--soft", 1.5]]) {
      context.strokeStyle = this.color(color);
      context.lineWidth = wide;
      context.beginPath();
      context.moveTo(left, bottom - 5);
      context.lineTo(left, bottom);
      context.lineTo(left + length, bottom);
      context.lineTo(left + length, bottom - 5);
      context.stroke();
      if (wide > 2) context.strokeText(name, left + 5, bottom - 5);
    }
    context.fillStyle = this.color("--soft");
    context.fillText(name, left + 5, bottom - 5);
  }
}

/** Whether a picture still shows all of the view. */
function covers({ camera }, view) {
  const [inner, outer] = [view.box(), camera.box];
  const factor = view.scale / camera.scale;
  return factor > 0.4 && factor < 3 && inner[0] >= outer[0] && inner[1] >= outer[1]
    && inner[2] <= outer[2] && inner[3] <= outer[3];
}

function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}
