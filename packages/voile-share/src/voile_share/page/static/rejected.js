/** Why something was refused; reasons are those of docs/sharing-protocol.md. */
export class Rejected extends Error {
  constructor(reason) {
    super(reason);
    this.name = "Rejected";
    this.reason = reason;
  }
}

/** Refuse unless something holds. */
export function require(holds, reason) {
  if (!holds) throw new Rejected(reason);
}
