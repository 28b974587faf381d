/** What the page says of its own state, in plain words: {kind, title, text}, or null. */

import { clock, lasting } from "./words.js";

/** Addresses that open nothing. */
const LINKS = {
  "no-link": ["There is no link", "The address of this page must hold the whole link that you were sent, with all that follows the sign #."],
  incomplete: ["This link is incomplete or damaged", "A part of its key is missing or was changed. Copy the whole address, to its last character, and open it again."],
};
const OTHER_FORM = ["This link is of another kind", "Its key is not one that this page can read. Copy the whole address again, or ask who sent it for a new one."];

const BROWSERS = {
  "secure-context": ["This page must be opened securely", "It decrypts on your device, which browsers allow over https only. Open the link with https at its beginning."],
  algorithms: ["This browser is too old for this page", "It cannot decrypt the parcel's place (it lacks X25519 or Ed25519). Use Chrome or Edge 137, Firefox 132, Safari 18, or anything newer."],
};

const ENDINGS = {
  "link-expired": ["This link has expired", "It no longer shows where the parcel is. Ask the sender or the carrier for a new one if you still need it."],
  "link-revoked": ["This link was withdrawn", "The carrier has ended it. Ask the sender or the carrier for a new one if you still need it."],
  "link-unknown": ["This link is not known here", "Check that the whole address was copied, and that it is of this carrier."],
  "truck-retired": ["The truck no longer reports", "The carrier has taken it out of service. Ask the carrier where the parcel is now."],
};

const STAYS = "What is shown is the last report that could be verified.";
const REFUSALS = {
  signature: ["The key in this link does not fit", "A report came that the truck of this link has not signed, so it is not shown. Copy the whole address again; if that changes nothing, tell the carrier."],
  foreign: ["The key in this link is of another truck", "The reports that come are not those of the link's truck, so they are not shown. Copy the whole address again; if that changes nothing, tell the carrier."],
  expired: ["The key in this link is not for today", "Its keys are of other days. Ask the sender or the carrier for a new link."],
  future: ["Check the clock of this device", "A report came from what is the future by this device's clock. It is shown when its time has come."],
};
const DAMAGED = ["A report was refused", "It is damaged or was changed on its way, so it is not shown. The next one may be whole."];

const said = (kind, [title, text]) => ({ kind, title, text });

/** For an address that was refused with a reason. */
export const linkNotice = (reason) => said("ended", LINKS[reason] ?? OTHER_FORM);

/** For a browser that lacks something. */
export const browserNotice = (lacking) => said("ended", BROWSERS[lacking]);

/** The most important thing to say of a tracking. */
export function notice(tracking, now, online = true) {
  const { ended, refused, sighting } = tracking;
  if (ended) return said("ended", ENDINGS[ended] ?? ["This link has ended", "The service shows nothing more of the parcel."]);
  if (refused) return refusal(tracking);
  if (tracking.clockIsWrong) return clocks(tracking);
  if (sighting && tracking.absent) return gone(sighting, now);
  if (tracking.state === "waiting") return offline(sighting, online);
  if (sighting) return tracking.isOld(now) ? old(sighting, now) : null;
  return nothingYet(tracking);
}

function refusal({ refused, sighting }) {
  const [title, text] = REFUSALS[refused] ?? DAMAGED;
  const shown = sighting !== null && refused !== "expired";
  // Where the key has fitted before it is the report that is wrong.
  if (shown && ["signature", "foreign"].includes(refused)) {
    return said("warning", ["A report was refused", `It was not signed by the parcel's truck. ${STAYS}`]);
  }
  return said("warning", [title, shown ? `${text} ${STAYS}` : text]);
}

function clocks({ ahead }) {
  const way = ahead > 0 ? "behind" : "ahead of";
  return said("warning", [
    "Check the clock of this device",
    `It is ${lasting(Math.abs(ahead))} ${way} that of the service. All times here go by this device.`,
  ]);
}

const gone = (sighting, now) => said("info", [
  "The parcel is no longer on the truck",
  `The truck's reports say nothing of it any more: it was probably delivered. It was last mentioned at ${clock(sighting.time, now)}.`,
]);

const offline = (sighting, online) => said("info", [
  online ? "The service cannot be reached" : "You are offline",
  `${sighting ? "What is shown is what came last. " : ""}The page goes on by itself as soon as it can.`,
]);

const old = (sighting, now) => said("warning", [
  "This position is old",
  `The truck was there at ${clock(sighting.time, now)}, and no newer report has come. It may be elsewhere by now.`,
]);

function nothingYet({ state, absent }) {
  if (absent) {
    return said("info", [
      "No report about this parcel",
      "The truck reports, but not about this parcel: it may not be loaded yet, or it may have been delivered already. If it should be on the truck, the link's key may be wrong: copy the whole address again.",
    ]);
  }
  return said("info", state === "live"
    ? ["No report yet", "The truck has not reported since this link was made. Its place appears here when it does."]
    : ["Opening", "The parcel's place is being fetched."]);
}
