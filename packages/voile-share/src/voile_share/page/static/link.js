/**
 * A tracking link: /t#LINKNUMBER.FRAGMENT, to a truck or to a parcel that goes from truck to truck.
 *
 * The number is sent to the service, in a header.  The fragment holds the keys and stays here: it
 * is part of the address that browsers do not send, and nothing on this page sends it either.
 */

import { fromBase64url, number, numberIn } from "./bytes.js";
import { derived, ed25519Public, x25519Public } from "./ciphers.js";
import { require } from "./rejected.js";

const HEADER = [1, 8, 1];
const HEAD = 56;
const DAY = 64;
const PARCEL_KIND = 10;
const PARCEL = 72;
const MOST_DAYS = 31;
export const DAY_SECONDS = 86_400;

/** The number and the keys of an address's hash; throws Rejected. */
export function linkIn(hash) {
  require(hash.length > 1, "no-link");
  const dot = hash.indexOf(".");
  require(dot > 1 && dot < hash.length - 1, "incomplete");
  const number = hash.slice(1, dot);
  // It goes into a header: nothing but letters, digits and signs of base64url.
  require(/^[A-Za-z0-9_-]{8,128}$/.test(number), "incomplete");
  return { number, keys: keysIn(hash.slice(dot + 1)) };
}

/** What stands in a fragment: the truck, its verifying key, and secrets for days in a row. */
export function keysIn(fragment) {
  const octets = fromBase64url(fragment);
  require(octets !== null && octets.length >= HEAD, "incomplete");
  require(octets[0] === HEADER[0], "version");
  if (octets[1] === PARCEL_KIND) return parcelIn(octets);
  require(octets[1] === HEADER[1], "kind");
  require(octets[2] === HEADER[2], "suite");
  const days = octets[55];
  require(days >= 1 && days <= MOST_DAYS && octets.length === HEAD + DAY * days, "incomplete");
  return {
    truck: octets.slice(3, 19),
    verifying: octets.slice(19, 51),
    firstDay: numberIn(octets.slice(51, 55)),
    days: Array.from({ length: days }, (_, day) => {
      const at = HEAD + DAY * day;
      return { tracking: octets.slice(at, at + 32), address: octets.slice(at + 32, at + 64) };
    }),
  };
}

/** Of a link to a parcel: its carrier's key, the root of its keys, and how many days it has. */
function parcelIn(octets) {
  require(octets[2] === HEADER[2], "suite");
  const days = octets[71];
  require(octets.length === PARCEL && days >= 1 && days <= MOST_DAYS, "incomplete");
  return {
    carrier: octets.slice(3, 35),
    root: octets.slice(35, 67),
    firstDay: numberIn(octets.slice(67, 71)),
    days: { length: days },
  };
}

/** The keys of a link to a parcel, for the reports of one truck. */
export const keysOn = (keys, { truck, verifying }) => ({ ...keys, truck, verifying });

/** What opens the notices of a link to a parcel: the secret n, and the point N. */
export async function boxOf(keys) {
  const secret = await derived(keys.root, 32, "voile 1 parcel notices");
  return { secret, point: await x25519Public(secret) };
}

/** The secrets for the day of a slot; throws Rejected where there are none. */
export async function keysOfDay(keys, slot) {
  const today = Math.floor(slot / DAY_SECONDS);
  const day = today - keys.firstDay;
  require(day >= 0 && day < keys.days.length, "expired");
  if (!keys.root) return keys.days[day];
  const tracking = await derived(keys.root, 32, "voile 1 parcel tracking", number(today, 4));
  const seed = await derived(keys.root, 32, "voile 1 parcel address", number(today, 4));
  return { tracking, address: await ed25519Public(seed) };
}
