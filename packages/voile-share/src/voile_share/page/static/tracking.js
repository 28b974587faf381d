/**
 * What is known of the parcel, and the one way in which it changes: no page, no network.
 *
 * Times are seconds since 1970 by this device's clock.  It is this clock that judges whether a
 * report is recent: the service could make an old one look new by its own.
 */

import { forecast } from "./arrival.js";
import { fromBase64url, same, toBase64url } from "./bytes.js";
import { boxOf, keysOn } from "./link.js";
import { noticeIn } from "./notice.js";
import { Reader } from "./reader.js";
import { Rejected } from "./rejected.js";

const MOST_SIGHTINGS = 10;
const CLOCKS_APART = 120;
const USUAL_SLOT = 300;
const USUAL_OLD = 900;

export class Tracking {
  constructor(keys) {
    this.keys = keys;
    /** Of a link to a parcel there is none while the parcel is on no truck. */
    this.reader = keys.carrier ? null : new Reader(keys);
    /** What the carrier has said last; null of a link to a truck. */
    this.notice = null;
    /** The last slot that was read of each truck, by its number. */
    this.lasts = new Map();
    this.sightings = [];
    this.terms = null;
    /** The state of the feed. */
    this.state = "connecting";
    /** Why it is over: a reason, or null. */
    this.ended = null;
    /** The reason why the last report was refused; null after one that was read. */
    this.refused = null;
    this.refusals = 0;
    /** Whether the last report read was not about the parcel. */
    this.absent = false;
    /** How far the clock of the service is ahead, in seconds. */
    this.ahead = 0;
  }

  /** Whether the link follows a parcel from truck to truck. */
  get isParcel() {
    return Boolean(this.keys.carrier);
  }

  /** The last slot that was read, of whichever truck; below 0 before the first. */
  get last() {
    return Math.max(this.reader?.last ?? -1, ...this.lasts.values());
  }

  /** Take what the carrier says.  Returns "read" or "refused". */
  async takeNotice(sealed) {
    const octets = fromBase64url(sealed);
    try {
      if (octets === null || !this.isParcel) throw new Rejected("truncated");
      this.box ??= await boxOf(this.keys);
      const notice = await noticeIn(octets, this.keys, this.box);
      // The same once more, as after a reconnection, is nothing new.
      if (this.notice && notice.number === this.notice.number) return "read";
      if (this.notice && notice.number < this.notice.number) throw new Rejected("replayed");
      this.follow(notice);
      return "read";
    } catch (fault) {
      if (!(fault instanceof Rejected)) throw fault;
      this.refusals += 1;
      if (fault.reason !== "replayed") this.refused = "notice";
      return "refused";
    }
  }

  /** Another truck is another story: nothing of the one before is shown with it. */
  follow(notice) {
    const before = this.notice?.card;
    this.notice = notice;
    this.refused = null;
    if (this.reader) this.lasts.set(toBase64url(this.reader.keys.truck), this.reader.last);
    if (before && notice.card && same(before.truck, notice.card.truck)) return;
    this.sightings = [];
    this.absent = false;
    this.reader = notice.card === null
      ? null
      : new Reader(keysOn(this.keys, notice.card), this.lasts.get(toBase64url(notice.card.truck)));
  }

  /**
   * Read a report.  Returns "read", "refused", or, for one that has come too early by this
   * device's clock, in how many seconds to try again.
   */
  async take(report, now) {
    const octets = fromBase64url(report);
    try {
      if (octets === null) throw new Rejected("truncated");
      if (this.reader === null) throw new Rejected("foreign");
      const sighting = await this.reader.read(octets, now);
      this.refused = null;
      this.absent = sighting === null;
      if (sighting) this.see(sighting);
      return "read";
    } catch (fault) {
      if (!(fault instanceof Rejected)) throw fault;
      return this.refuse(fault.reason, octets, now);
    }
  }

  /** Since when the same place is shown goes with each sighting. */
  see(sighting) {
    const before = this.sightings.at(-1);
    const stays = before?.latitude === sighting.latitude && before?.longitude === sighting.longitude;
    const since = stays ? before.since : sighting.time;
    this.sightings = [...this.sightings, { ...sighting, since }].slice(-MOST_SIGHTINGS);
  }

  refuse(reason, octets, now) {
    const slot = octets && octets.length > 23 ? new DataView(octets.buffer).getUint32(19) : 0;
    // After a reconnection the last report may come once more, which is nothing to tell of.
    if (reason === "replayed" && slot === this.reader?.last) return "refused";
    this.refusals += 1;
    // Nor does an older one change what is known, or one that comes while no truck is expected.
    if (reason !== "replayed" && this.reader !== null) this.refused = reason;
    return reason === "future" ? slot - now - 59 : "refused";
  }

  setTerms(terms, now) {
    this.terms = terms;
    if (Number.isFinite(terms.now)) this.ahead = terms.now - now;
  }

  /** Nothing is shown of a link that has ended. */
  end(reason) {
    this.ended = reason;
    this.sightings = [];
  }

  get sighting() {
    return this.sightings.at(-1) ?? null;
  }

  get clockIsWrong() {
    return Math.abs(this.ahead) > CLOCKS_APART;
  }

  /** Whether the last sighting is so old that reports must have been missed. */
  isOld(now) {
    const slot = this.terms?.slot_seconds ?? USUAL_SLOT;
    return this.sighting !== null && now - this.sighting.time > Math.max(3 * slot, USUAL_OLD);
  }

  /** Since when the link is over by its terms; null if it is not. */
  expiredAt(now) {
    const expires = this.terms?.expires;
    return Number.isFinite(expires) && now + this.ahead >= expires ? expires : null;
  }

  /** When the parcel arrives: {low, high}, times, and {tours}; null where nothing can be said. */
  arrival() {
    const { sighting } = this;
    if (!sighting || this.absent || sighting.remaining === null) return null;
    const found = forecast(this.terms?.arrival, {
      time: sighting.time,
      metres: sighting.remaining,
      stands: sighting.time - sighting.since,
      stops: this.notice?.stops ?? null,
    });
    if (found === null) return null;
    return { ...found, low: sighting.time + found.low, high: sighting.time + found.high };
  }
}
