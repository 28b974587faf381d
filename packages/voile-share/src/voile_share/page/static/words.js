/** Times, distances and directions in words.  Times are those of the viewer's zone. */

import { language, say, sayOf } from "./language.js";

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** "9:05 PM" where people write that, and "09:05" elsewhere. */
const { hour12 } = new Intl.DateTimeFormat([], { hour: "numeric" }).resolvedOptions();
const hours = new Intl.DateTimeFormat([], { hour: hour12 ? "numeric" : "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long" });
const past = new Intl.RelativeTimeFormat(language, { numeric: "always" });

/** "14:05", with the day where it is not today's; times in seconds. */
export function clock(time, now) {
  const at = new Date(time * 1_000);
  const shown = hours.format(at);
  if (at.toDateString() === new Date(now * 1_000).toDateString()) return shown;
  for (const [away, name] of [[-DAY, "yesterday"], [DAY, "tomorrow"]]) {
    if (at.toDateString() === new Date((now + away) * 1_000).toDateString()) {
      return say(name, { time: shown });
    }
  }
  return say("on-day", { time: shown, day: days.format(at) });
}

/** "3 minutes ago". */
export function ago(seconds) {
  if (seconds < -MINUTE) return say("in-the-future");
  if (seconds < 45) return say("now");
  const [count, unit] = amount(seconds);
  return past.format(-count, unit);
}

/** A length of time: "7 minutes", "3 hours". */
export function lasting(seconds) {
  const [count, unit] = amount(seconds);
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count);
}

function amount(seconds) {
  if (seconds < 90 * MINUTE) return [Math.max(1, Math.round(seconds / MINUTE)), "minute"];
  if (seconds < 1.5 * DAY) return [Math.round(seconds / HOUR), "hour"];
  return [Math.round(seconds / DAY), "day"];
}

/** Two digits of a distance: "260 m", "4.3 km", "12 km". */
export function distance(metres) {
  const digits = Number(metres.toPrecision(2));
  if (digits < 1_000) return `${digits < 10 ? Math.round(digits) : digits} m`;
  const places = digits < 10_000 ? 1 : 0;
  const number = new Intl.NumberFormat(language, {
    minimumFractionDigits: places, maximumFractionDigits: places,
  });
  return `${number.format(digits / 1_000)} km`;
}

/** The direction of degrees, clockwise from the north. */
export const direction = (degrees) => sayOf("winds", Math.round(degrees / 45) % 8);

/** An interval of times, made wider to round times of the clock. */
export function rounded({ low, high }) {
  const width = high - low;
  const step = (width < 20 * MINUTE ? 1 : width < 3 * HOUR ? 5 : 15) * MINUTE;
  return { low: Math.floor(low / step) * step, high: Math.ceil(high / step) * step };
}
