/**
 * The road map: the compact document (packages/voile-share/src/voile_share/map.py) as lines to be drawn.
 *
 * Lines are cut into pieces of at most 32 points, each with the box that it fills, so that only what
 * is in view is drawn.
 */

import { project } from "./plane.js";

const ADDRESS = "/map/roads.json";
const UNITS = 100_000;
const PIECE = 32;
/** As in packages/voile-share/src/voile_share/map/ranks.py, to which labels refer by place. */
const RANKS = ["motorway", "primary", "secondary", "tertiary", "street", "service"];

/** The map of this service, or null where it has none. */
export async function loadRoads() {
  try {
    const answer = await fetch(ADDRESS, { credentials: "omit" });
    return answer.ok ? roadsIn(await answer.json()) : null;
  } catch {
    return null;
  }
}

/** Layers from the least important one, names, the map's reach in the plane, whose map it is. */
export function roadsIn(document) {
  if (document.format !== "voile-road-map" || document.version !== 1) return null;
  const [latitude, longitude] = document.middle;
  const [south, west, north, east] = document.reach;
  const at = (up, right) => project((latitude + up) / UNITS, (longitude + right) / UNITS);
  return {
    attribution: String(document.attribution ?? ""),
    reach: [...at(south, west), ...at(north, east)],
    layers: document.layers
      .map(({ rank, counts, steps }) => ({ rank, pieces: piecesOf(counts, steps, at) }))
      .reverse(),
    streets: streetsIn(document, at),
    places: (document.places ?? []).map((one) => ({
      ...one,
      at: at(...one.at),
      latitude: (latitude + one.at[0]) / UNITS,
      longitude: (longitude + one.at[1]) / UNITS,
    })),
  };
}

/** Names of streets, each with the ends of a piece along which it can be written. */
function streetsIn({ names = [], labels = [] }, at) {
  const streets = [];
  for (let next = 0; next < labels.length; next += 6) {
    const [rank, name, up, right, above, beside] = labels.slice(next, next + 6);
    streets.push({ rank: RANKS[rank], name: names[name], ends: [at(up, right), at(above, beside)] });
  }
  return streets;
}

function piecesOf(counts, steps, at) {
  const pieces = [];
  let [up, right, next] = [0, 0, 0];
  for (const count of counts) {
    let line = [];
    for (let point = 0; point < count; point += 1) {
      up += steps[next];
      right += steps[next + 1];
      next += 2;
      line.push(...at(up, right));
      if (line.length === 2 * PIECE && point < count - 1) {
        pieces.push(piece(line));
        line = line.slice(-2);
      }
    }
    pieces.push(piece(line));
  }
  return pieces;
}

function piece(line) {
  const points = Float64Array.from(line);
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let at = 0; at < points.length; at += 2) {
    box[0] = Math.min(box[0], points[at]);
    box[1] = Math.min(box[1], points[at + 1]);
    box[2] = Math.max(box[2], points[at]);
    box[3] = Math.max(box[3], points[at + 1]);
  }
  return { points, box };
}
