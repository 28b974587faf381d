/** The plane of the map: Mercator's projection, in metres at the scale of the equator. */

const EARTH = 6_378_137;
const WIDTH = 2 * Math.PI * EARTH;
const RADIANS = Math.PI / 180;
const NORTHERNMOST = 85;

/** East and north, [x, y], of degrees. */
export function project(latitude, longitude) {
  const north = Math.max(-NORTHERNMOST, Math.min(NORTHERNMOST, latitude));
  return [EARTH * longitude * RADIANS, EARTH * Math.asinh(Math.tan(north * RADIANS))];
}

/** How long a metre is on the map, at a height y of it. */
export const stretch = (y) => Math.cosh(y / EARTH);

/** The point that is the same place and nearest to some x: maps may lie across the date line. */
export const near = ([x, y], reference) => [x + WIDTH * Math.round((reference - x) / WIDTH), y];

/** Metres and direction (degrees, clockwise from the north) from one position to another. */
export function course(from, to) {
  const middle = RADIANS * (from.latitude + to.latitude) / 2;
  const turn = ((to.longitude - from.longitude + 540) % 360) - 180;
  const east = EARTH * turn * RADIANS * Math.cos(middle);
  const north = EARTH * (to.latitude - from.latitude) * RADIANS;
  const direction = (Math.atan2(east, north) / RADIANS + 360) % 360;
  return { metres: Math.hypot(east, north), direction };
}
