/**
 * What outlives a reload, and being offline: ciphertext, in this tab alone.
 *
 * Kept are the last report read and the last that was about the parcel, as they came, under a name
 * made from the link.  No place and no key is kept: reports are decrypted again with the key in the
 * address.  It is session storage, which ends with the tab and which no other tab sees, since a
 * phone may be lent and a computer shared.  It is wiped when the link ends.  That the last report
 * is kept also means that an older one is still refused after a reload.
 */

import { text, toBase64url } from "./bytes.js";
import { digest } from "./ciphers.js";

export class Keeping {
  /** For the hash of an address. */
  static async of(hash) {
    return new Keeping(`voile:${toBase64url(await digest(text(`voile page ${hash}`)))}`);
  }

  constructor(name) {
    this.name = name;
    this.kept = { last: null, seen: null, terms: null, notice: null };
    try {
      Object.assign(this.kept, JSON.parse(sessionStorage.getItem(name)) ?? {});
    } catch {
      // Storage is forbidden, or holds what is none of ours.
    }
  }

  /** The reports, each once, in the order of their slots: base64url. */
  get reports() {
    const { last, seen } = this.kept;
    return [...new Set([seen, last])].filter((report) => typeof report === "string");
  }

  get terms() {
    return this.kept.terms;
  }

  keepReport(report, isAboutParcel) {
    this.keep({ last: report, ...(isAboutParcel ? { seen: report } : {}) });
  }

  /** What the carrier has said last: so an older one is refused after a reload, too. */
  get notice() {
    return this.kept.notice;
  }

  keepNotice(notice) {
    // Reports of another truck than the last notice's are not read again.
    if (notice !== this.kept.notice) this.keep({ notice, last: null, seen: null });
  }

  keepTerms(terms) {
    this.keep({ terms });
  }

  wipe() {
    this.keep({ last: null, seen: null, terms: null, notice: null });
  }

  keep(changes) {
    Object.assign(this.kept, changes);
    try {
      sessionStorage.setItem(this.name, JSON.stringify(this.kept));
    } catch {
      // Without storage the page works until it is closed.
    }
  }
}
