/** Writes what is known to the page, and in words to who hears it. */

import { notice } from "./notices.js";
import { course } from "./plane.js";
import { radius } from "./uncertainty.js";
import { ago, clock, direction, distance, rounded } from "./words.js";

const SOON = 120;
/** Metres: fewer are no distance that anybody could tell. */
const NEARLY = 50;
/** What an arrival is estimated from.  How often it comes in that time is not known. */
const BASIS = "by straight-line distance and usual speeds";
const CONNECTION = { connecting: "Connecting", live: "Connected", waiting: "Trying again", ended: "Ended" };

const element = (id) => document.getElementById(id);

function write(id, words) {
  if (element(id).textContent !== words) element(id).textContent = words;
}

/** Show a tracking as it is at a time. */
export function show(tracking, now) {
  const { sighting, ended } = tracking;
  const state = ended ? "ended" : tracking.state;
  showConnection(state, CONNECTION[state]);
  const said = notice(tracking, now, navigator.onLine);
  showNotice(said);
  const arrival = tracking.ended ? null : arrivalWords(tracking.arrival(), now, tracking.isOld(now));
  element("arrival").hidden = arrival === null;
  if (arrival) {
    write("arrival-likely", arrival.likely);
    write("arrival-range", arrival.range + (arrival.basis ? "," : ""));
    write("arrival-basis", arrival.basis);
  }
  element("seen").hidden = sighting === null;
  if (sighting) showSighting(tracking, now);
  showAbout(tracking, now);
  speak([said?.title, said?.text, arrival?.spoken, ...sightingWords(tracking, now)]);
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
  write("words", sentences.filter(Boolean).map((one) => (/[.!?]$/.test(one) ? one : `${one}.`)).join(" "));
}

/**
 * The arrival in words: likely, range, what they are estimated from, and all as one sentence that
 * does not change from minute to minute.
 */
export function arrivalWords(exact, now, isOld) {
  if (exact === null) return null;
  const { low, middle, high } = rounded(exact);
  const [from, likely, to] = [low, middle, high].map((time) => clock(time, now));
  const before = `Before ${to}`;
  if (exact.high < now) {
    return isOld
      ? worded(before, "That time has passed, and no newer report has come.", "", `By the estimate it should have arrived before ${to}.`)
      : worded("Any minute", `The estimate was before ${to}.`, "", "Arrival estimated for any minute.");
  }
  if (exact.middle < now + SOON) {
    return worded("Any minute", before, BASIS, `Arrival estimated for any minute; before ${to}, ${BASIS}.`);
  }
  const range = exact.low < now ? before : `Between ${from} and ${to}`;
  const sentence = `Arrival estimated around ${likely}; ${range.replace(/^B/, "b")}, ${BASIS}.`;
  return worded(`Around ${likely}`, range, BASIS, sentence);
}

const worded = (likely, range, basis, spoken) => ({ likely, range, basis, spoken });

function showSighting(tracking, now) {
  const { sighting, absent } = tracking;
  write("seen-ago", capital(ago(now - sighting.time)));
  write("seen-at", clock(sighting.time, now));
  element("seen-at").dateTime = new Date(sighting.time * 1_000).toISOString();
  const left = absent ? null : sighting.remaining;
  element("seen-remaining").hidden = left === null;
  if (left !== null) write("seen-remaining", remainingWords(left));
  write("seen-within", `The truck was inside the circle of ${distance(radius(sighting.epsilon))} around the dot, 9 times out of 10.`);
}

const remainingWords = (metres) => (metres < NEARLY ? "Nearly there" : `About ${distance(metres)} to go in a straight line`);

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/** The sighting in sentences, for who does not see the map. */
function sightingWords({ sightings, absent }, now) {
  const [sighting, before] = [sightings.at(-1), sightings.at(-2)];
  if (!sighting) return [];
  const { latitude, longitude, time, remaining, epsilon } = sighting;
  const degrees = `${Math.abs(latitude).toFixed(3)} degrees ${latitude < 0 ? "south" : "north"}, `
    + `${Math.abs(longitude).toFixed(3)} degrees ${longitude < 0 ? "west" : "east"}`;
  const within = `within ${distance(radius(epsilon))} of ${degrees}, 9 times out of 10`;
  const when = `At ${clock(time, now)} the truck was`;
  return [
    ...(absent || remaining === null
      ? [`${when} ${within}.`]
      : [`${when} ${fromGoal(remaining)}.`, `It was ${within}.`]),
    before ? movedWords(before, sighting, now) : null,
  ];
}

/** Where people are who see no map: by the way that is left rather than by degrees. */
const fromGoal = (metres) => (metres < NEARLY
  ? "nearly at the parcel's destination"
  : `about ${distance(metres)} from the parcel's destination in a straight line`);

/** How it has moved, where that is more than what the noise of both positions makes of rest. */
function movedWords(before, sighting, now) {
  const { metres, direction: degrees } = course(before, sighting);
  const since = `Since ${clock(before.time, now)}`;
  if (metres <= Math.hypot(radius(before.epsilon), radius(sighting.epsilon))) {
    return `${since} it has not moved farther than can be told.`;
  }
  return `${since} it has moved some ${distance(metres)} to the ${direction(degrees)}.`;
}

function showAbout({ terms, sighting, refusals, ended }, now) {
  element("about").hidden = ended !== null;
  element("about-place").hidden = sighting === null;
  if (sighting) {
    write("about-place", `The dot is at ${sighting.latitude.toFixed(4)}, ${sighting.longitude.toFixed(4)} (latitude, longitude).`);
  }
  const expires = terms?.expires;
  element("about-link").hidden = !Number.isFinite(expires);
  if (Number.isFinite(expires)) write("about-link", `This link works until ${clock(expires, now)}.`);
  element("about-refused").hidden = refusals === 0;
  const reports = refusals === 1 ? "1 report was" : `${refusals} reports were`;
  write("about-refused", `${reports} refused: damaged, not signed by the truck, or sent before.`);
}
