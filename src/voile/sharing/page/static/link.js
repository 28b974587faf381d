/**
 * A tracking link: /t#LINKNUMBER.FRAGMENT.
 *
 * The number is sent to the service, in a header.  The fragment holds the keys and stays here: it
 * is part of the address that browsers do not send, and nothing on this page sends it either.
 */

import { fromBase64url, numberIn } from "./bytes.js";
import { require } from "./rejected.js";

const HEADER = [1, 8, 1];
const HEAD = 56;
const DAY = 64;
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

/** The secrets for the day of a slot; throws Rejected where there are none. */
export function keysOfDay(keys, slot) {
  const day = Math.floor(slot / DAY_SECONDS) - keys.firstDay;
  require(day >= 0 && day < keys.days.length, "expired");
  return keys.days[day];
}
