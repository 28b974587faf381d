/**
 * The tracking page: opens the link in its address, follows the feed, shows the parcel.
 *
 *   link, notice, reader, ciphers,   the protocol: docs/sharing-protocol.md
 *   feed, keeping, service-worker    what comes, what stays
 *   tracking                         what is known
 *   arrival, uncertainty             what follows from it
 *   showing, notices, words,         the page in words, of several languages
 *   language, messages, bell
 *   map, camera, drawing, gestures,  the page as a map
 *   roads, labels, plane
 *
 * It asks its own origin for three things: the feed, the road map, and itself.
 */

import { Bell } from "./bell.js";
import { lacking } from "./ciphers.js";
import { Feed } from "./feed.js";
import { Keeping } from "./keeping.js";
import { say, translate } from "./language.js";
import { linkIn } from "./link.js";
import { ParcelMap } from "./map.js";
import { browserNotice, linkNotice } from "./notices.js";
import { Rejected } from "./rejected.js";
import { loadRoads } from "./roads.js";
import { show, showConnection, showNotice, speak } from "./showing.js";
import { Tracking } from "./tracking.js";

const TICK = 5_000;
const LONGEST_TIMER = 2 ** 31 - 1;

const seconds = () => Date.now() / 1_000;
const element = (id) => document.getElementById(id);

/** Nothing can be shown. */
function give(said) {
  showConnection("ended", say("not-opened"));
  showNotice(said);
  speak([said.title, said.text]);
}

class Page {
  constructor({ number, keys }, keeping, map) {
    this.tracking = new Tracking(keys);
    this.keeping = keeping;
    this.map = map;
    this.bell = new Bell(element("notify"));
    this.reading = Promise.resolve();
    this.feed = new Feed(number, () => this.tracking.last, {
      terms: (terms) => this.setTerms(terms),
      report: (report) => this.take(report),
      notice: (notice) => this.takeNotice(notice),
      state: (state) => this.change({ state }),
      ended: (reason) => this.end(reason),
    });
  }

  async open() {
    const { terms, notice, reports } = this.keeping;
    if (terms) this.tracking.setTerms({ ...terms, now: null }, seconds());
    if (typeof notice === "string") await this.tracking.takeNotice(notice);
    for (const report of reports) await this.tracking.take(report, seconds());
    // What was read before is no news where it cannot be read again.
    Object.assign(this.tracking, { refused: null, refusals: 0 });
    this.render();
    setInterval(() => this.tick(), TICK);
    addEventListener("online", () => this.feed.hurry());
    addEventListener("offline", () => this.render());
    document.addEventListener("visibilitychange", () => {
      this.tick();
      if (!document.hidden) this.feed.hurry();
    });
    await this.feed.follow();
  }

  /** Read reports one after the other, in the order in which they came. */
  take(report) {
    this.reading = this.reading.then(async () => {
      const outcome = await this.tracking.take(report, seconds());
      if (outcome === "read") this.keeping.keepReport(report, !this.tracking.absent);
      if (outcome > 0) setTimeout(() => this.take(report), Math.min(outcome * 1_000, LONGEST_TIMER));
      this.render();
    }).catch(reportError);
    return this.reading;
  }

  /** In its turn among the reports, since it says which ones come next. */
  takeNotice(notice) {
    this.reading = this.reading.then(async () => {
      if (await this.tracking.takeNotice(notice) === "read") this.keeping.keepNotice(notice);
      this.render();
    }).catch(reportError);
    return this.reading;
  }

  setTerms(terms) {
    this.tracking.setTerms(terms, seconds());
    this.keeping.keepTerms(terms);
    this.render();
  }

  change(changes) {
    Object.assign(this.tracking, changes);
    this.render();
  }

  end(reason) {
    this.tracking.end(reason);
    this.keeping.wipe();
    this.render();
  }

  tick() {
    if (this.tracking.expiredAt(seconds()) !== null && !this.tracking.ended) this.end("link-expired");
    else this.render();
  }

  render() {
    const now = seconds();
    const { sighting } = this.tracking;
    show(this.tracking, now, sighting && this.map.placeNear(sighting));
    const faded = this.tracking.absent || this.tracking.isOld(now);
    this.map.mark(this.tracking.ended ? null : this.tracking.notice?.destination ?? null);
    this.bell.hear(this.tracking);
    this.map.see(this.tracking.sightings, faded);
  }
}

function openMap() {
  const buttons = { closer: element("closer"), farther: element("farther"), parcel: element("parcel") };
  const map = new ParcelMap(element("surface"), element("canvas"), buttons);
  const loaded = loadRoads().then((roads) => {
    map.show(roads);
    element("roadless").hidden = roads !== null;
    element("attribution").textContent = roads?.attribution ?? "";
  }).catch(reportError);
  return { map, loaded };
}

/** Let the page open offline.  It works without, too: where browsers forbid it, as some do. */
function installWorker() {
  navigator.serviceWorker
    ?.register("/static/service-worker.js", { scope: "/t" })
    .catch(() => {});
}

async function main() {
  // Another link that is pasted over this one changes nothing but the hash.
  addEventListener("hashchange", () => location.reload());
  translate(document);
  const { map, loaded } = openMap();
  // Where there is room for it.
  element("about").open = matchMedia("(min-width: 48rem) and (min-height: 40rem)").matches;
  installWorker();
  const lacks = await lacking();
  if (lacks) return give(browserNotice(lacks));
  try {
    const link = linkIn(location.hash);
    const page = new Page(link, await Keeping.of(location.hash), map);
    loaded.then(() => page.render());
    return await page.open();
  } catch (fault) {
    if (!(fault instanceof Rejected)) throw fault;
    return give(linkNotice(fault.reason));
  }
}

main().catch(reportError);
