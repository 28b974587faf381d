/**
 * When a parcel arrives: what past tours of its carrier say, at a like distance that was shown.
 *
 * The table is made by voile_share.arrival, which says what is promised of it; this is its lookup,
 * and a test compares both.  Where the table has nothing to say, nothing is said: where few tours
 * were like this one, far away, and where the truck stands, as in a depot.
 */

const WHAT = "arrival table";
const VERSION = 2;
const PART_SECONDS = 4 * 3_600;
const DAY = 86_400;
const STOPS = [0, 2, 5, 10];
const STANDS_SECONDS = 1_800;

/**
 * Seconds from the fix between which it arrives, and on how many tours that rests; or null.
 *
 * `metres` is the shown distance to the destination, `stands` for how many seconds the same place
 * was shown, `stops` how many are left before it; null where that is not known.
 */
export function forecast(table, { time, metres, stands, stops }) {
  if (!isTable(table) || !(metres >= 0) || stands >= STANDS_SECONDS) return null;
  const { nearest, factor, rows } = table;
  const place = halfToEven(Math.log(Math.max(metres, nearest) / nearest) / Math.log(factor));
  for (const name of namesOf(time, stops)) {
    const found = rows[name]?.[place];
    if (Array.isArray(found) && found.every(Number.isFinite)) {
      return { low: found[0], high: found[1], tours: found[2] };
    }
  }
  return null;
}

/** Which positions are like this one: first those that say most. */
function namesOf(time, stops) {
  const bucket = STOPS.filter((most) => stops > most).length;
  return [
    ...(stops === null ? [] : [`stops ${bucket}`]),
    `part ${Math.floor((time % DAY) / PART_SECONDS)}`,
    "all",
  ];
}

const isTable = (table) => table?.voile === WHAT && table.version === VERSION
  && table.nearest > 0 && table.factor > 1 && typeof table.rows === "object" && table.rows !== null;

/** As Python rounds. */
function halfToEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
