/**
 * Reads reports with the keys of a link: docs/sharing-protocol.md, "Write a reader".
 *
 * It judges in this order: form, truck, signature, slot, day; then it tries the items.  Only what is
 * signed and later than everything before moves it forward, so that no report is read twice.
 */

import { compared, framed, joined, number, numberIn, same, text } from "./bytes.js";
import { box, digest, exchanged, isSigned } from "./ciphers.js";
import { keysOfDay } from "./link.js";
import { require } from "./rejected.js";

const HEADER = [1, 6, 1];
const TAIL = 100;
const HEAD = 130;
const ITEM = 68;
const BUCKETS = [10, 30, 100, 300, 1000];
const LEVELS = 3;
const EARLY_SECONDS = 60;
const NOT_GIVEN = 0xffffff;
const SUITE = Uint8Array.of(1);

export class Reader {
  /** `last` is the last slot accepted; -1 before the first. */
  constructor(keys, last = -1) {
    this.keys = keys;
    this.last = last;
  }

  /**
   * What a report says of the parcel, null if it is not about it; throws Rejected.
   *
   * `now` is in seconds since 1970.  One call after the other, please: wait for each.
   */
  async read(octets, now) {
    const report = parsed(octets);
    require(same(report.truck, this.keys.truck), "foreign");
    require(await isSigned(this.keys.verifying, report.signature, await record(report)), "signature");
    require(report.slot > this.last, "replayed");
    require(report.slot <= now + EARLY_SECONDS, "future");
    const secrets = await keysOfDay(this.keys, report.slot);
    const sighting = await sightingIn(report, secrets);
    this.last = report.slot;
    return sighting;
  }
}

/** The parts of a report, whose form is checked; throws Rejected. */
export function parsed(octets) {
  require(octets.length >= 26, "truncated");
  require(octets[0] === HEADER[0], "version");
  require(octets[1] === HEADER[1], "kind");
  require(octets[2] === HEADER[2], "suite");
  const size = numberIn(octets.slice(23, 26));
  require(octets.length >= 26 + size + TAIL, "truncated");
  require(octets.length === 26 + size + TAIL, "trailing");
  const body = octets.slice(26, 26 + size);
  const tail = octets.slice(26 + size);
  const report = {
    place: octets.slice(3, 23),
    truck: octets.slice(3, 19),
    slot: numberIn(octets.slice(19, 23)),
    body,
    sequence: tail.slice(0, 4),
    previous: tail.slice(4, 36),
    signature: tail.slice(36),
    ephemeral: body.slice(0, 32),
  };
  return { ...report, ...partsOfBody(body) };
}

function partsOfBody(body) {
  require(body.length >= HEAD, "truncated");
  const count = numberIn(body.slice(HEAD - 2, HEAD));
  require(body.length >= HEAD + count * ITEM, "truncated");
  require(body.length === HEAD + count * ITEM, "trailing");
  require(BUCKETS.includes(count), "field");
  const items = Array.from({ length: count }, (_, at) => {
    const item = body.slice(HEAD + at * ITEM, HEAD + (at + 1) * ITEM);
    return { address: item.slice(0, 32), sealed: item.slice(32) };
  });
  for (let at = 1; at < count; at += 1) {
    require(compared(items[at - 1].address, items[at].address) < 0, "field");
  }
  require(isCanonical(body.slice(0, 32)), "point");
  const positions = [0, 1, 2].map((level) => body.slice(32 + 32 * level, 64 + 32 * level));
  return { items, positions };
}

/** Whether a coordinate is below the prime 2^255 - 19; the least significant octet is first. */
function isCanonical(point) {
  if (point[31] !== 0x7f) return point[31] < 0x7f;
  return point.slice(1, 31).some((octet) => octet !== 0xff) || point[0] < 0xed;
}

/** What the truck signs: the record of a report, framed. */
async function record({ place, body, sequence, previous }) {
  const ofBody = await digest(framed(text("voile 1 body"), SUITE, body));
  const whole = joined(Uint8Array.of(1, 7, 1), place, sequence, ofBody, previous);
  return framed(text("voile 1 record"), whole);
}

/** Try all items; one at most is the parcel's. */
async function sightingIn(report, secrets) {
  const { ephemeral, place, items } = report;
  const shared = await exchanged(secrets.tracking, ephemeral);
  const open = await box(shared, ephemeral, "voile 1 item", place, secrets.address);
  const opened = await Promise.all(
    items.map(({ address, sealed }) => open(sealed, framed(SUITE, place, ephemeral, address))),
  );
  const item = opened.find((plaintext) => plaintext !== null);
  if (!item) return null;
  const level = item[0];
  require(level < LEVELS, "field");
  const metres = numberIn(item.slice(1, 4));
  const position = await positionAt(report, level, item.slice(4));
  return { slot: report.slot, level, ...position, remaining: metres === NOT_GIVEN ? null : metres };
}

async function positionAt({ ephemeral, place, positions }, level, seed) {
  const octet = number(level, 1);
  const open = await box(seed, ephemeral, "voile 1 position", place, octet);
  const plaintext = await open(positions[level], framed(SUITE, place, ephemeral, octet));
  require(plaintext !== null && plaintext.length === 16, "tampered");
  const view = new DataView(plaintext.buffer);
  const position = {
    latitude: view.getInt32(0) / 1e7,
    longitude: view.getInt32(4) / 1e7,
    time: view.getUint32(8),
    epsilon: view.getFloat32(12),
  };
  require(
    Math.abs(position.latitude) <= 90 && Math.abs(position.longitude) <= 180
      && position.epsilon >= 2 ** -30 && position.epsilon <= 2 ** 10,
    "field",
  );
  return position;
}
