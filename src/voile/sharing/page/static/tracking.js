/**
 * What is known of the parcel, and the one way in which it changes: no page, no network.
 *
 * Times are seconds since 1970 by this device's clock.  It is this clock that judges whether a
 * report is recent: the service could make an old one look new by its own.
 */

import { arrival } from "./arrival.js";
import { fromBase64url } from "./bytes.js";
import { Reader } from "./reader.js";
import { Rejected } from "./rejected.js";
import { deviation } from "./uncertainty.js";

const MOST_SIGHTINGS = 10;
const CLOCKS_APART = 120;
const USUAL_SLOT = 300;
const USUAL_OLD = 900;

export class Tracking {
  constructor(keys) {
    this.reader = new Reader(keys);
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

  /**
   * Read a report.  Returns "read", "refused", or, for one that has come too early by this
   * device's clock, in how many seconds to try again.
   */
  async take(report, now) {
    const octets = fromBase64url(report);
    try {
      if (octets === null) throw new Rejected("truncated");
      const sighting = await this.reader.read(octets, now);
      this.refused = null;
      this.absent = sighting === null;
      if (sighting) this.sightings = [...this.sightings, sighting].slice(-MOST_SIGHTINGS);
      return "read";
    } catch (fault) {
      if (!(fault instanceof Rejected)) throw fault;
      return this.refuse(fault.reason, octets, now);
    }
  }

  refuse(reason, octets, now) {
    const slot = octets && octets.length > 23 ? new DataView(octets.buffer).getUint32(19) : 0;
    // After a reconnection the last report may come once more, which is nothing to tell of.
    if (reason === "replayed" && slot === this.reader.last) return "refused";
    this.refusals += 1;
    // Nor does an older one change what is known.
    if (reason !== "replayed") this.refused = reason;
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

  /** When the parcel arrives: {low, middle, high}, times; null where nothing can be said. */
  arrival() {
    const speeds = this.terms?.speeds_kmh;
    if (!this.sighting || this.absent || this.sighting.remaining === null) return null;
    if (!areSpeeds(speeds)) return null;
    // It is worth computing once for a sighting.
    const asked = `${this.sighting.slot} ${speeds}`;
    if (this.computed?.asked !== asked) {
      const { remaining, epsilon, time } = this.sighting;
      const { low, middle, high } = arrival(remaining, deviation(epsilon), speeds);
      const at = { low: time + low, middle: time + middle, high: time + high };
      this.computed = { asked, at };
    }
    return this.computed.at;
  }
}

const areSpeeds = (speeds) => Array.isArray(speeds) && speeds.length === 3
  && speeds.every((speed) => Number.isFinite(speed) && speed > 0)
  && speeds[0] <= speeds[1] && speeds[1] <= speeds[2];
