/**
 * The feed of a link: server-sent events, read by fetch, since EventSource sends no headers.
 *
 * It goes on by itself after every interruption, first soon and then more rarely, and at once when
 * the device comes online or the page is looked at.  It ends where the service says that the link
 * has ended.
 */

const ADDRESS = "/api/v1/feed";
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;
/** The service sends a comment every 15 s: three that do not come mean that nothing does. */
const SILENCE = 50_000;
const LONGEST_EVENT = 4_000_000;
const FINAL = new Set(["link-unknown", "link-expired", "link-revoked", "truck-retired"]);

export class Feed {
  /**
   * `heard` has functions: `terms(object)`, `report(base64url)` and `notice(base64url)`, which may return a promise,
   * `state("connecting" | "live" | "waiting")` and `ended(reason)`.  `lastSlot()` is the last slot
   * that was read, below 0 if none was.
   */
  constructor(number, lastSlot, heard) {
    this.number = number;
    this.lastSlot = lastSlot;
    this.heard = heard;
    this.failures = 0;
    this.hurry = () => {};
  }

  /** Follow the feed until it ends. */
  async follow() {
    for (let reason = null; ;) {
      reason = await this.connection().catch(() => null);
      if (reason !== null) {
        await this.tell("ended", reason);
        return;
      }
      await this.tell("state", "waiting");
      await this.pause();
    }
  }

  /** One connection: why the feed ended for good, or null where it is to be tried again. */
  async connection() {
    const stop = new AbortController();
    let watch = setTimeout(() => stop.abort(), SILENCE);
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => stop.abort(), SILENCE);
    };
    await this.tell("state", "connecting");
    try {
      const answer = await fetch(ADDRESS, this.request(stop.signal));
      if (!answer.ok) return await this.refusal(answer);
      for await (const event of eventsOf(answer.body, alive)) {
        const reason = await this.take(event);
        if (reason !== null) return reason;
      }
      return null;
    } finally {
      clearTimeout(watch);
      stop.abort();
    }
  }

  request(signal) {
    const headers = { Accept: "text/event-stream", Authorization: `Bearer ${this.number}` };
    const last = this.lastSlot();
    if (last >= 0) headers["Last-Event-ID"] = `${last}`;
    return {
      headers, signal, cache: "no-store", credentials: "omit", redirect: "error",
      referrerPolicy: "no-referrer",
    };
  }

  /** Why a request was refused for good (RFC 9457), or null. */
  async refusal(answer) {
    const problem = await answer.json().catch(() => ({}));
    const after = Number(answer.headers.get("Retry-After"));
    this.atLeast = Number.isFinite(after) ? Math.min(after * 1_000, LONGEST_WAIT) : 0;
    const known = { 401: "link-unknown", 410: "link-expired" }[answer.status];
    return FINAL.has(problem.reason) ? problem.reason : known ?? null;
  }

  async take({ name, data }) {
    if (name === "report") await this.tell("report", data);
    if (name === "notice") await this.tell("notice", data);
    if (name === "terms") {
      this.failures = 0;
      await this.tell("terms", parsedOr(data, {}));
      await this.tell("state", "live");
    }
    const { reason } = name === "ended" ? parsedOr(data, {}) : {};
    return FINAL.has(reason) ? reason : null;
  }

  /** Tell who listens; a fault of theirs is no fault of the connection. */
  async tell(what, said) {
    try {
      await this.heard[what](said);
    } catch (fault) {
      reportError(fault);
    }
  }

  /** Wait before the next attempt: longer each time, never all pages at one time. */
  pause() {
    const longest = Math.min(FIRST_WAIT * 2 ** this.failures, LONGEST_WAIT);
    const wait = Math.max(longest * (0.5 + Math.random() / 2), this.atLeast ?? 0);
    this.failures += 1;
    this.atLeast = 0;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.hurry = () => {
        clearTimeout(timer);
        this.failures = 0;
        resolve();
      };
    });
  }
}

function parsedOr(data, otherwise) {
  try {
    return JSON.parse(data) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** The events of a stream: name and data; `alive` is called whenever something comes. */
export async function* eventsOf(body, alive = () => {}) {
  const stream = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = { name: "message", data: [] };
  for (;;) {
    const { done, value } = await stream.read();
    if (done) return;
    alive();
    rest += value;
    if (rest.length > LONGEST_EVENT) throw new Error("an event is too long");
    // A carriage return at the end may be the first half of a line's end.
    const whole = rest.endsWith("\r") ? rest.slice(0, -1) : rest;
    const lines = whole.split(/\r\n|\r|\n/);
    rest = lines.pop() + rest.slice(whole.length);
    for (const line of lines) {
      if (line === "") {
        if (event.data.length) yield { name: event.name, data: event.data.join("\n") };
        event = { name: "message", data: [] };
      } else {
        field(event, line);
      }
    }
  }
}

function field(event, line) {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "event") event.name = value;
  if (name === "data") event.data.push(value);
}
