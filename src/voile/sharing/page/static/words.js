/** Times, distances and directions in words.  Times are those of the viewer's zone. */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** "9:05 PM" where people write that, and "09:05" elsewhere. */
const { hour12 } = new Intl.DateTimeFormat([], { hour: "numeric" }).resolvedOptions();
const hours = new Intl.DateTimeFormat([], { hour: hour12 ? "numeric" : "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const plural = (count, unit) => `${count} ${unit}${count === 1 ? "" : "s"}`;

/** "14:05", with the day where it is not today's; times in seconds. */
export function clock(time, now) {
  const at = new Date(time * 1_000);
  const shown = hours.format(at);
  if (at.toDateString() === new Date(now * 1_000).toDateString()) return shown;
  for (const [away, name] of [[-DAY, "yesterday"], [DAY, "tomorrow"]]) {
    if (at.toDateString() === new Date((now + away) * 1_000).toDateString()) {
      return `${shown} ${name}`;
    }
  }
  return `${shown} on ${days.format(at)}`;
}

/** "3 minutes ago". */
export function ago(seconds) {
  if (seconds < -MINUTE) return "in the future";
  if (seconds < 1.5 * MINUTE) return seconds < 45 ? "just now" : "1 minute ago";
  if (seconds < 90 * MINUTE) return `${plural(Math.round(seconds / MINUTE), "minute")} ago`;
  if (seconds < 1.5 * DAY) return `${plural(Math.round(seconds / HOUR), "hour")} ago`;
  return `${plural(Math.round(seconds / DAY), "day")} ago`;
}

/** A length of time: "7 minutes", "3 hours". */
export const lasting = (seconds) => ago(Math.max(seconds, 1.5 * MINUTE)).replace(" ago", "");

/** Two digits of a distance: "260 m", "4.3 km", "12 km". */
export function distance(metres) {
  const digits = Number(metres.toPrecision(2));
  if (digits < 1_000) return `${digits < 10 ? Math.round(digits) : digits} m`;
  return `${digits < 10_000 ? (digits / 1_000).toFixed(1) : Math.round(digits / 1_000)} km`;
}

const WINDS = [
  "north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west",
];

/** The direction of degrees, clockwise from the north. */
export const direction = (degrees) => WINDS[Math.round(degrees / 45) % 8];

/** An interval of times, made wider to round times of the clock. */
export function rounded({ low, middle, high }) {
  const width = high - low;
  const step = (width < 20 * MINUTE ? 1 : width < 3 * HOUR ? 5 : 15) * MINUTE;
  return {
    low: Math.floor(low / step) * step,
    middle: Math.round(middle / step) * step,
    high: Math.ceil(high / step) * step,
  };
}
