/**
 * Tells of news by a notification while the page is open, if the viewer has asked for that.
 *
 * By the browser alone: no push service of anybody's is asked, so nothing comes once the page is
 * closed.  It holds where the parcel is in its journey, and neither a place nor a time.
 */

import { say } from "./language.js";

export class Bell {
  constructor(button) {
    this.button = button;
    this.on = false;
    this.stage = null;
    if (!("Notification" in globalThis) || Notification.permission === "denied") return;
    button.hidden = false;
    button.addEventListener("click", () => this.toggle());
  }

  async toggle() {
    this.on = !this.on && (await Notification.requestPermission()) === "granted";
    this.button.setAttribute("aria-pressed", `${this.on}`);
    if (Notification.permission === "denied") this.button.hidden = true;
  }

  /** Hear how a tracking is now: another stage is news, the first one is none. */
  hear({ notice, absent, sighting, ended }) {
    const gone = sighting && absent ? "gone" : null;
    const stage = ended ? null : notice?.stage ?? gone;
    const before = this.stage;
    this.stage = stage;
    if (this.on && before !== null && stage !== null && stage !== before) this.ring(say(stage));
  }

  ring(words) {
    try {
      new Notification(say("title"), { body: words, icon: "/static/icon.svg", tag: "voile" });
    } catch {
      // Some browsers let only service workers notify; the page says it all the same.
      navigator.serviceWorker?.ready
        .then((worker) => worker.showNotification(say("title"), { body: words, tag: "voile" }))
        .catch(() => {});
    }
  }
}
