/** What WebCrypto computes for a reader: X25519, HKDF, AES-GCM, Ed25519, SHA-256. */

import { framed, fromBase64url, joined, text } from "./bytes.js";
import { Rejected } from "./rejected.js";

// WebCrypto takes private keys of X25519 in PKCS #8, which is this and the 32 octets (RFC 8410).
const PKCS8 = Uint8Array.of(
  0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20,
);
const PKCS8_ED25519 = PKCS8.map((octet, at) => (at === 11 ? 0x70 : octet));
const KEY = 32;
const NONCE = 12;

/** What this browser lacks: null, "secure-context" or "algorithms". */
export async function lacking() {
  if (!globalThis.crypto?.subtle) return "secure-context";
  const point = Uint8Array.of(9, ...new Array(31).fill(0));
  try {
    await crypto.subtle.importKey("raw", point, "X25519", false, []);
    await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    return null;
  } catch {
    return "algorithms";
  }
}

/** The secret shared by a private key and a point; Rejected ("point") where that is 0. */
export async function exchanged(secret, point) {
  const own = await crypto.subtle.importKey(
    "pkcs8", joined(PKCS8, secret), "X25519", false, ["deriveBits"],
  );
  const theirs = await crypto.subtle.importKey("raw", point, "X25519", false, []);
  try {
    const shared = await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, own, 256);
    const octets = new Uint8Array(shared);
    if (octets.some((octet) => octet !== 0)) return octets;
  } catch {
    // Browsers refuse a secret of 0 by themselves.
  }
  throw new Rejected("point");
}

/** Octets from a secret, by HKDF, for a purpose. */
export async function derived(secret, size, ...context) {
  return derivedWith(secret, new Uint8Array(), size, ...context);
}

async function derivedWith(secret, salt, size, name, ...rest) {
  const source = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const info = framed(text(name), ...rest);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt, info };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, source, 8 * size));
}

/** The point of a secret scalar. */
export const x25519Public = (secret) => publicOf(PKCS8, secret, "X25519", ["deriveBits"]);

/** The verifying key of a seed. */
export const ed25519Public = (seed) => publicOf(PKCS8_ED25519, seed, "Ed25519", ["sign"]);

/** Browsers give the public half of a private key in its form as JSON. */
async function publicOf(head, secret, algorithm, uses) {
  const key = await crypto.subtle.importKey("pkcs8", joined(head, secret), algorithm, true, uses);
  return fromBase64url((await crypto.subtle.exportKey("jwk", key)).x);
}

/** A box of a single use: opens one ciphertext, or several of which one is meant. */
export async function box(secret, salt, ...context) {
  const both = await derivedWith(secret, salt, KEY + NONCE, ...context);
  const key = await crypto.subtle.importKey("raw", both.slice(0, KEY), "AES-GCM", false, ["decrypt"]);
  const iv = both.slice(KEY);
  return async (sealed, additionalData) => {
    try {
      const algorithm = { name: "AES-GCM", iv, additionalData };
      return new Uint8Array(await crypto.subtle.decrypt(algorithm, key, sealed));
    } catch {
      return null;
    }
  };
}

export async function isSigned(key, signature, message) {
  try {
    const verifying = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", verifying, signature, message);
  } catch {
    return false;
  }
}

export const digest = async (octets) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
