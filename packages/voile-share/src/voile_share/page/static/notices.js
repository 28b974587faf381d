/** What the page says of its own state, in plain words: {kind, title, text}, or null. */

import { isSaid, say } from "./language.js";
import { clock, lasting } from "./words.js";

const PLACES = new Set(["awaited", "depot", "delivered", "returned"]);

/** A message and its text; another where there is none of that name. */
function said(kind, name, values = {}, otherwise = null) {
  const key = isSaid(`${name}.text`) ? name : otherwise;
  return { kind, title: say(key, values), text: say(`${key}.text`, values) };
}

/** For an address that was refused with a reason. */
export const linkNotice = (reason) => said("ended", reason, {}, "other-form");

/** For a browser that lacks something. */
export const browserNotice = (lacking) => said("ended", lacking);

/** The most important thing to say of a tracking. */
export function notice(tracking, now, online = true) {
  const { ended, refused, sighting } = tracking;
  if (ended) return said("ended", ended, {}, "link-ended");
  if (refused) return refusal(tracking);
  if (tracking.clockIsWrong) return clocks(tracking);
  if (PLACES.has(tracking.notice?.stage)) return placed(tracking.notice, now);
  if (tracking.notice && !sighting) {
    return said("info", "aboard", { time: clock(tracking.notice.time, now) });
  }
  if (sighting && tracking.absent) return said("info", "gone", { time: clock(sighting.time, now) });
  if (tracking.state === "waiting") return offline(sighting, online);
  if (sighting) {
    return tracking.isOld(now) ? said("warning", "old", { time: clock(sighting.time, now) }) : null;
  }
  return nothingYet(tracking);
}

function refusal({ refused, sighting }) {
  const shown = sighting !== null && refused !== "expired";
  // Where the key has fitted before it is the report that is wrong.
  const other = shown && ["signature", "foreign"].includes(refused);
  const one = other
    ? said("warning", "refused-other")
    : said("warning", `refused-${refused}`, {}, "refused-damaged");
  return shown ? { ...one, text: `${one.text} ${say("stays")}` } : one;
}

function clocks({ ahead }) {
  const values = { lasting: lasting(Math.abs(ahead)) };
  const text = say(ahead > 0 ? "clock-behind" : "clock-ahead", values);
  return { kind: "warning", title: say("clock"), text };
}

/** Where a parcel is that is on no truck, by what its carrier says. */
function placed({ stage, depot, time }, now) {
  const one = said("info", stage, { time: clock(time, now) });
  return stage === "depot" && depot ? { ...one, title: say("depot-named", { depot }) } : one;
}

const offline = (sighting, online) => ({
  kind: "info",
  title: say(online ? "away" : "offline"),
  text: say(sighting ? "offline-shown" : "offline.text"),
});

function nothingYet({ state, absent }) {
  if (absent) return said("info", "not-about");
  return said("info", state === "live" ? "no-report" : "opening");
}
