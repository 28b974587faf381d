/**
 * What the carrier of a parcel tells its reader: on which truck the parcel is, or why on none.
 *
 * docs/sharing-protocol.md, "A parcel on several trucks".  The carrier's key stands in the link: so a
 * truck is believed because the carrier has signed its card, and never because the service says so.
 */

import { framed, joined, same, text } from "./bytes.js";
import { box, exchanged, isSigned } from "./ciphers.js";
import { require } from "./rejected.js";

const SEALED = [1, 12, 1];
const HEADER = [1, 11, 1];
const HEAD = 35;
const SIGNED = 201;
const SIZE = 265;
const TAG = 16;
const NOT_SAID = 255;
const NOWHERE = -(2 ** 31);
const MOST_DEPOT = 64;

export const STAGES = ["awaited", "aboard", "depot", "delivered", "returned"];

/** Open one; `own` is boxOf(keys).  Throws Rejected. */
export async function noticeIn(sealed, keys, own) {
  require(sealed.length >= 3, "truncated");
  for (const [at, reason] of ["version", "kind", "suite"].entries()) {
    require(sealed[at] === SEALED[at], reason);
  }
  require(sealed.length >= HEAD + SIZE + TAG, "truncated");
  require(sealed.length === HEAD + SIZE + TAG, "trailing");
  const head = sealed.slice(0, HEAD);
  const ephemeral = head.slice(3);
  const shared = await exchanged(own.secret, ephemeral);
  const open = await box(shared, ephemeral, "voile 1 sealed notice", own.point);
  const plain = await open(sealed.slice(HEAD), head);
  require(plain !== null, "tampered");
  return read(plain, keys, own);
}

async function read(plain, keys, own) {
  const whole = framed(text("voile 1 notice"), plain.slice(0, SIGNED));
  require(await isSigned(keys.carrier, plain.slice(SIGNED), whole), "signature");
  require(plain[0] === HEADER[0] && plain[1] === HEADER[1] && plain[2] === HEADER[2], "field");
  require(same(plain.slice(3, 35), own.point), "identity");
  const view = new DataView(plain.buffer);
  const [stage, stops, length] = [STAGES[plain[43]], plain[44], plain[136]];
  const [north, east] = [view.getInt32(45), view.getInt32(49)];
  const card = cardIn(plain.slice(53, 136));
  require(stage !== undefined && length <= MOST_DEPOT, "field");
  require((card !== null) === (stage === "aboard"), "field");
  return {
    number: view.getUint32(35),
    time: view.getUint32(39),
    stage,
    stops: stops === NOT_SAID ? null : stops,
    destination: north === NOWHERE ? null : { latitude: north / 1e7, longitude: east / 1e7 },
    card,
    depot: new TextDecoder().decode(plain.slice(137, 137 + length)),
  };
}

/** The truck and its verifying key; null for zeros. */
function cardIn(octets) {
  if (octets.every((octet) => octet === 0)) return null;
  require(same(octets.slice(0, 3), joined([1, 9, 0])), "field");
  return { truck: octets.slice(3, 19), verifying: octets.slice(19, 51) };
}
