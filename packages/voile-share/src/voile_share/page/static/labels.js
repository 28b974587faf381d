/**
 * Writes names on the map: those of places, then of streets, the most important ones first, as far as
 * there is room.  A name is left out where it would lie on another, or beside its street.
 */

/** The size of the letters in pixels, and the scale (pixels per metre) from which on a kind is shown. */
const PLACES = {
  city: { size: 16, from: 0.0004 },
  town: { size: 14, from: 0.002 },
  suburb: { size: 13, from: 0.012 },
  village: { size: 12, from: 0.012 },
};
const STREETS = {
  motorway: { size: 11, from: 0.03 },
  primary: { size: 11, from: 0.05 },
  secondary: { size: 11, from: 0.08 },
  tertiary: { size: 11, from: 0.1 },
  street: { size: 11, from: 0.16 },
  service: { size: 10, from: 0.5 },
};
const FONT = "system-ui, sans-serif";
/** Pixels between two names, and between two places where the same one is written. */
const APART = 4;
const AGAIN = 260;
/** A name may be longer than the straight piece of its street by this factor. */
const LONGER = 1.2;

/** `view` is what a picture shows: {scale, box}. */
export function writeNames(context, { places, streets }, view, colors) {
  const written = [];
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = colors.halo;
  for (const kind of Object.keys(PLACES)) {
    for (const place of places) {
      if (place.kind === kind) writePlace(context, place, view, colors, written);
    }
  }
  for (const street of streets) writeStreet(context, street, view, colors, written);
}

function writePlace(context, { kind, name, at }, view, colors, written) {
  const { size, from } = PLACES[kind];
  if (view.scale < from || !isIn(at, view.box)) return;
  context.font = `600 ${size}px ${FONT}`;
  context.fillStyle = colors.place;
  write(context, name, { at: onScreen(at, view), turn: 0, size }, written);
}

function writeStreet(context, { rank, name, ends }, view, colors, written) {
  const { size, from } = STREETS[rank];
  if (view.scale < from) return;
  const middle = [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2];
  if (!isIn(middle, view.box)) return;
  const [right, down] = [ends[1][0] - ends[0][0], ends[0][1] - ends[1][1]];
  context.font = `${size}px ${FONT}`;
  if (context.measureText(name).width > LONGER * Math.hypot(right, down) * view.scale) return;
  context.fillStyle = colors.street;
  // Never upside down, and upwards where it is upright.
  const turn = right === 0 ? -Math.PI / 2 : Math.atan(down / right);
  write(context, name, { at: onScreen(middle, view), turn, size }, written);
}

function write(context, name, { at: [x, y], turn, size }, written) {
  const wide = context.measureText(name).width / 2 + APART;
  const high = size / 2 + APART;
  const [cos, sin] = [Math.abs(Math.cos(turn)), Math.abs(Math.sin(turn))];
  const [across, along] = [wide * cos + high * sin, wide * sin + high * cos];
  const box = [x - across, y - along, x + across, y + along];
  const isTaken = written.some((one) => overlap(one.box, box)
    || (one.name === name && Math.hypot(one.x - x, one.y - y) < AGAIN));
  if (isTaken) return;
  written.push({ name, x, y, box });
  context.save();
  context.translate(x, y);
  context.rotate(turn);
  context.strokeText(name, 0, 0);
  context.fillText(name, 0, 0);
  context.restore();
}

const onScreen = ([x, y], { scale, box }) => [(x - box[0]) * scale, (box[3] - y) * scale];

const isIn = ([x, y], box) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3];

/** Whether two boxes do: [left, top, right, bottom]. */
export const overlap = (one, other) =>
  one[0] <= other[2] && one[2] >= other[0] && one[1] <= other[3] && one[3] >= other[1];
