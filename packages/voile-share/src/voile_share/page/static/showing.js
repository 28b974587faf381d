/** Writes what is known to the page, and in words to who hears it. */

import { say, sayOf } from "./language.js";
import { notice } from "./notices.js";
import { course } from "./plane.js";
import { radius } from "./uncertainty.js";
import { ago, clock, direction, distance, rounded } from "./words.js";

/** Metres: fewer are no distance that anybody could tell. */
const NEARLY = 50;

const element = (id) => document.getElementById(id);

function write(id, words) {
  if (element(id).textContent !== words) element(id).textContent = words;
}

/** Show a tracking as it is at a time; `near` is the name of a place there, or null. */
export function show(tracking, now, near = null) {
  const { sighting, ended } = tracking;
  const state = ended ? "ended" : tracking.state;
  showConnection(state, say(state));
  const said = notice(tracking, now, navigator.onLine);
  showNotice(said);
  const arrival = tracking.ended ? null : arrivalWords(tracking.arrival(), now, tracking.isOld(now));
  element("arrival").hidden = arrival === null;
  if (arrival) {
    write("arrival-when", arrival.when);
    write("arrival-basis", arrival.basis);
  }
  element("seen").hidden = sighting === null;
  if (sighting) showSighting(tracking, now, near);
  showAbout(tracking, now);
  speak([said?.title, said?.text, arrival?.spoken, ...sightingWords(tracking, now, near)]);
}

export function showConnection(state, words) {
  element("connection").dataset.state = state;
  write("connection", words);
}

export function showNotice(said) {
  element("notice").hidden = said === null;
  if (!said) return;
  element("notice").dataset.kind = said.kind;
  write("notice-title", said.title);
  write("notice-text", said.text);
}

/** Say something to a screen reader, once. */
export function speak(sentences) {
  write("words", sentences.filter(Boolean).map((one) => (/[.!?。]$/.test(one) ? one : `${one}.`)).join(" "));
}

/**
 * The arrival in words: when, what is to be said of it, and all as one sentence that does not change
 * from minute to minute.
 */
export function arrivalWords(exact, now, isOld) {
  if (exact === null) return null;
  const { low, high } = rounded(exact);
  const values = { from: clock(low, now), to: clock(high, now), tours: exact.tours };
  if (exact.high < now) {
    const spoken = say("spoken-late", values);
    return isOld
      ? worded(say("before", values), say("passed"), spoken)
      : worded(say("late"), say("late.text", values), spoken);
  }
  const which = exact.low < now ? "before" : "between";
  return worded(say(which, values), say("share", values), say(`spoken-${which}`, values));
}

const worded = (when, basis, spoken) => ({ when, basis, spoken });

function showSighting(tracking, now, near) {
  const { sighting, absent } = tracking;
  write("seen-ago", capital(ago(now - sighting.time)));
  write("seen-at", clock(sighting.time, now));
  element("seen-at").dateTime = new Date(sighting.time * 1_000).toISOString();
  const left = absent ? null : sighting.remaining;
  element("seen-remaining").hidden = left === null;
  if (left !== null) write("seen-remaining", remainingWords(left));
  element("seen-near").hidden = near === null;
  if (near !== null) write("seen-near", say("near", { place: near }));
  write("seen-within", say("within", { distance: distance(radius(sighting.epsilon)) }));
}

const remainingWords = (metres) =>
  (metres < NEARLY ? say("nearly") : say("to-go", { distance: distance(metres) }));

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/** The sighting in sentences, for who does not see the map. */
function sightingWords({ sightings, absent }, now, near) {
  const [sighting, before] = [sightings.at(-1), sightings.at(-2)];
  if (!sighting) return [];
  const { latitude, longitude, time, remaining, epsilon } = sighting;
  const place = say("degrees", {
    north: Math.abs(latitude).toFixed(3), ns: sayOf("sides", latitude < 0 ? 1 : 0),
    east: Math.abs(longitude).toFixed(3), ew: sayOf("sides", longitude < 0 ? 3 : 2),
  });
  const values = { time: clock(time, now), distance: distance(radius(epsilon)), place };
  return [
    // Where people are who see no map: by the way that is left rather than by degrees.
    ...(absent || remaining === null
      ? [say("was-within", values)]
      : [fromGoal(remaining, values), say("it-within", values)]),
    near && say("near", { place: near }),
    before ? movedWords(before, sighting, now) : null,
  ];
}

const fromGoal = (metres, { time }) => (metres < NEARLY
  ? say("was-nearly", { time })
  : say("was-from", { time, distance: distance(metres) }));

/** How it has moved, where that is more than what the noise of both positions makes of rest. */
function movedWords(before, sighting, now) {
  const { metres, direction: degrees } = course(before, sighting);
  const time = clock(before.time, now);
  if (metres <= Math.hypot(radius(before.epsilon), radius(sighting.epsilon))) {
    return say("still", { time });
  }
  return say("moved", { time, distance: distance(metres), direction: direction(degrees) });
}

function showAbout({ terms, sighting, refusals, ended }, now) {
  element("about").hidden = ended !== null;
  element("about-place").hidden = sighting === null;
  if (sighting) {
    const [latitude, longitude] = [sighting.latitude, sighting.longitude].map((one) => one.toFixed(4));
    write("about-place", say("about-place", { latitude, longitude }));
  }
  const expires = terms?.expires;
  element("about-link").hidden = !Number.isFinite(expires);
  if (Number.isFinite(expires)) write("about-link", say("about-link", { time: clock(expires, now) }));
  element("about-refused").hidden = refusals === 0;
  const count = { count: refusals };
  write("about-refused", refusals === 1 ? say("about-refused-1") : say("about-refused", count));
}
