/** Octets: base64url, frames and numbers, as docs/sharing-protocol.md writes them. */

export const text = (words) => new TextEncoder().encode(words);

export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Each part after its length in four octets. */
export function framed(...parts) {
  return joined(...parts.flatMap((part) => [number(part.length, 4), part]));
}

/** An unsigned number in some octets, the most significant one first. */
export function number(value, size) {
  const octets = new Uint8Array(size);
  for (let at = size - 1, rest = value; at >= 0; at -= 1, rest = Math.floor(rest / 256)) {
    octets[at] = rest % 256;
  }
  return octets;
}

export const numberIn = (octets) => octets.reduce((value, octet) => value * 256 + octet, 0);

/** Whether two arrays hold the same; not for secrets, since it stops at the first difference. */
export const same = (one, other) =>
  one.length === other.length && one.every((octet, at) => octet === other[at]);

/** Which of two arrays of one size comes first: negative, 0 or positive. */
export function compared(one, other) {
  for (let at = 0; at < one.length; at += 1) {
    if (one[at] !== other[at]) return one[at] - other[at];
  }
  return 0;
}

export function toBase64url(octets) {
  const letters = btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The inverse, of the one encoding only; null for anything else. */
export function fromBase64url(letters) {
  if (!/^[A-Za-z0-9_-]*$/.test(letters) || letters.length % 4 === 1) return null;
  const octets = Uint8Array.from(
    atob(letters.replaceAll("-", "+").replaceAll("_", "/")),
    (letter) => letter.charCodeAt(0),
  );
  return toBase64url(octets) === letters ? octets : null;
}
