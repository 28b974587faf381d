"use strict";
// What a release shows of its promises, counted again in a browser: hashes, signatures, and each
// claim that the rows let one see.  It says what `voile recount` says, of the same folder.
//
// Rows are held as codes, one Int32Array a column: cost in time is that of one pass over the bytes
// and of one pass for each column of a claim; in memory, the file and four bytes a cell.

const SCHEMAS = JSON.parse(document.getElementById("schemas").textContent);
const SAME = ["k", "e", "precision", "top", "beta", "clusters"];
const TOGETHER = "what this release tells beside the others of its series";
const NO_DRAWS = "differential privacy, a property of the draws: its ledger has what was spent";

class Refused extends Error {}
class Unread extends Error {}

// --- exact decimals: a whole number of units of 10^-scale

function decimal(text) {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(String(text).trim());
  if (!parts || !(parts[2] || parts[3])) return null;
  const [, sign, whole, fraction = "", power = "0"] = parts;
  let units = BigInt((whole + fraction) || "0");
  let scale = fraction.length - Number(power);
  if (Math.abs(scale) > 400) return null;
  if (scale < 0) { units *= 10n ** BigInt(-scale); scale = 0; }
  while (scale > 0 && units % 10n === 0n) { units /= 10n; scale -= 1; }
  return { units: sign === "-" ? -units : units, scale };
}

function rescaled(number, scale) { return number.units * 10n ** BigInt(scale - number.scale); }

function compare(one, other) {
  const scale = Math.max(one.scale, other.scale);
  const a = rescaled(one, scale), b = rescaled(other, scale);
  return a < b ? -1 : a > b ? 1 : 0;
}

const same = (one, other) => compare(decimal(one), decimal(other)) === 0;
const isNumber = (value) => typeof value === "number";
const repr = (name) => (name.includes("'") && !name.includes('"') ? `"${name}"` : `'${name}'`);
const counted = (number) => number.toLocaleString("en-US");
const near = (a, b, relative) => Math.abs(a - b) <= relative * Math.max(Math.abs(a), Math.abs(b));

// --- the declaration of release.json, in the part of JSON Schema that it is written in

function misfit(value, schema, where, defs) {
  if (schema.$ref) return misfit(value, defs[schema.$ref.split("/").pop()], where, defs);
  const any = schema.anyOf || schema.oneOf;
  if (any && !any.some((one) => !misfit(value, one, where, defs))) {
    const kinds = any.filter((one) => is_of_kind(one, value, defs));
    return kinds.length === 1 ? misfit(value, kinds[0], where, defs) : `${where}: it does not fit`;
  }
  if ("const" in schema && value !== schema.const) return `${where}: must be ${schema.const}`;
  if (schema.enum && !schema.enum.includes(value)) return `${where}: it is none of the values allowed`;
  if (schema.type && ![].concat(schema.type).some((type) => has_type(value, type))) {
    return `${where}: must be of type ${schema.type}`;
  }
  if (isNumber(value)) {
    if (value < schema.minimum || value > schema.maximum || value <= schema.exclusiveMinimum
      || value >= schema.exclusiveMaximum) return `${where}: it is out of range`;
  }
  if (typeof value === "string") {
    if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) return `${where}: it does not fit`;
    if ([...value].length < schema.minLength) return `${where}: it is too short`;
    if ([...value].length > schema.maxLength) return `${where}: it is too long`;
  }
  if (Array.isArray(value)) return misfit_items(value, schema, where, defs);
  if (has_type(value, "object")) return misfit_keys(value, schema, where, defs);
  return null;
}

function is_of_kind(schema, value, defs) {
  const held = schema.$ref ? defs[schema.$ref.split("/").pop()] : schema;
  const kind = held.properties && held.properties.kind;
  return kind && value && (kind.const === value.kind);
}

function has_type(value, type) {
  switch (type) {
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer": return Number.isInteger(value);
    default: return typeof value === type;
  }
}

function misfit_items(value, schema, where, defs) {
  if (value.length < schema.minItems || value.length > schema.maxItems) return `${where}: it has another length`;
  for (let place = 0; place < value.length; place += 1) {
    const item = schema.prefixItems && place < schema.prefixItems.length ? schema.prefixItems[place] : schema.items;
    const found = item && typeof item === "object" ? misfit(value[place], item, `${where}[${place + 1}]`, defs) : null;
    if (found) return found;
  }
  return null;
}

function misfit_keys(value, schema, where, defs) {
  const kind = schema.properties && schema.properties.kind && "const" in schema.properties.kind ? ["kind"] : [];
  for (const name of [...(schema.required || []), ...kind]) {
    if (!(name in value)) return `${where}: ${repr(name)} is missing`;
  }
  for (const [name, one] of Object.entries(value)) {
    const known = schema.properties && schema.properties[name];
    if (!known && schema.additionalProperties === false) return `${where}: unknown key ${repr(name)}`;
    const held = known || (typeof schema.additionalProperties === "object" ? schema.additionalProperties : null);
    const found = held && misfit(one, held, `${where}.${name}`, defs);
    if (found) return found;
  }
  return null;
}

// --- hashes and signatures

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes_of = (digits) => Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));

async function sha256(bytes) {
  if (!globalThis.crypto || !crypto.subtle) throw new Unread("this browser computes no SHA-256 here: open the page from a file or by https");
  return hex(await crypto.subtle.digest("SHA-256", bytes));
}

function in_ascii(value) { // as Python's json.dumps writes it with sorted keys
  if (Array.isArray(value)) return `[${value.map(in_ascii).join(",")}]`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value).sort((a, b) => compare_points(a, b));
    return `{${keys.map((key) => `${in_ascii(key)}:${in_ascii(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) =>
    c === "\u007f" ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function compare_points(one, other) {
  const a = [...one].map((c) => c.codePointAt(0)), b = [...other].map((c) => c.codePointAt(0));
  for (let place = 0; place < Math.min(a.length, b.length); place += 1) {
    if (a[place] !== b[place]) return a[place] - b[place];
  }
  return a.length - b.length;
}

async function signatures_of(folder, read) {
  if (!folder.has("signatures.json")) return { signers: [], breaches: [], note: "" };
  const broken = (what) => ({ signers: [], breaches: [`signatures.json: ${what}`], note: "" });
  let signed;
  try {
    signed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await read("signatures.json")));
  } catch {
    return broken("it was changed since it was written");
  }
  const statement = signed && signed.statement;
  const sound = statement && Array.isArray(statement.files) && Array.isArray(signed.signatures)
    && statement.files.every((one) => one && typeof one.file === "string" && typeof one.sha256 === "string");
  if (!sound || signed.format !== "voile-signatures-1") return broken("it was changed since it was written");
  const breaches = [], listed = new Set(statement.files.map((one) => one.file));
  for (const one of statement.files) {
    if (!folder.has(one.file)) breaches.push(`${one.file}: this signed file is missing`);
    else if (await sha256(await read(one.file)) !== one.sha256) breaches.push(`${one.file}: it was changed since it was signed`);
  }
  for (const name of folder.keys()) {
    if (name !== "signatures.json" && !listed.has(name)) breaches.push(`${name}: nobody has signed this file`);
  }
  const signers = [];
  let note = "";
  for (const one of signed.signatures) {
    try {
      const raw = bytes_of(String(one.key).replace(/^ed25519:/, ""));
      const key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
      const said = `voile-signature-1\0${in_ascii({ statement, role: one.role, key: one.key })}`;
      const holds = await crypto.subtle.verify("Ed25519", key, bytes_of(String(one.signature)), new TextEncoder().encode(said));
      if (holds) signers.push(one);
      else breaches.push(`signatures.json: the signature as ${repr(String(one.role))} does not hold`);
    } catch (error) {
      if (error.name === "NotSupportedError") note = "this browser cannot check signatures (Ed25519): voile verify does";
      else breaches.push(`signatures.json: the signature as ${repr(String(one.role))} does not hold`);
    }
  }
  return { signers, breaches, note, statement };
}

// --- rows of a CSV file, as codes

class Column {
  constructor(name) {
    this.name = name;
    this.codes = new Int32Array(1024);
    this.values = []; // [start, end, quoted] in the bytes, by code
    this.slots = new Int32Array(256).fill(-1);
    this.hashes = [];
  }

  put(row, bytes, start, end, quoted, hash) {
    if (row === this.codes.length) {
      const longer = new Int32Array(2 * row);
      longer.set(this.codes);
      this.codes = longer;
    }
    const mask = this.slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const code = this.slots[slot];
      if (code < 0) break;
      if (this.hashes[code] === hash && this.equals(code, bytes, start, end, quoted)) {
        this.codes[row] = code;
        return;
      }
      slot = (slot + 1) & mask;
    }
    const code = this.values.length;
    this.values.push([start, end, quoted]);
    this.hashes.push(hash);
    this.slots[slot] = code;
    this.codes[row] = code;
    if (2 * code > mask) this.rehash();
  }

  equals(code, bytes, start, end, quoted) {
    const [first, last, was] = this.values[code];
    if (last - first !== end - start || was !== quoted) return false;
    for (let place = 0; place < end - start; place += 1) {
      if (bytes[first + place] !== bytes[start + place]) return false;
    }
    return true;
  }

  rehash() {
    const mask = 2 * this.slots.length - 1;
    this.slots = new Int32Array(mask + 1).fill(-1);
    this.hashes.forEach((hash, code) => {
      let slot = hash & mask;
      while (this.slots[slot] >= 0) slot = (slot + 1) & mask;
      this.slots[slot] = code;
    });
  }

  // Codes of distinct values as they read; numbers that are equal are one value.
  finished(bytes, rows, kind) {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const texts = this.values.map(([start, end, quoted]) => {
      if (end === start && (!quoted || kind !== "text")) return null;
      const text = decoder.decode(bytes.subarray(start, end));
      return quoted ? text.replaceAll('""', '"') : text;
    });
    const parsed = kind === "text" ? [] : texts.map((text) => (text === null ? null : decimal(text)));
    const numeric = kind !== "text" && texts.every((text, code) => text === null || parsed[code]);
    const places = new Map(), values = [], numbers = [];
    const now = texts.map((text, code) => {
      const key = text === null ? null : numeric ? `${parsed[code].units}e${parsed[code].scale}` : text;
      if (!places.has(key)) {
        places.set(key, values.length);
        values.push(text);
        numbers.push(numeric ? parsed[code] : null);
      }
      return places.get(key);
    });
    const codes = this.codes.subarray(0, rows);
    for (let row = 0; row < rows; row += 1) codes[row] = now[codes[row]];
    return { name: this.name, codes, values, numbers: numeric ? numbers : null };
  }
}

async function table_of(bytes, types, progress) {
  let at = 0;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) at = 3;
  const header = [];
  const field = { start: 0, end: 0, quoted: false, hash: 0, last: "" };
  const next = () => { // reads one field, and moves behind its comma or the end of its line
    let hash = 0x811c9dc5;
    field.quoted = bytes[at] === 34;
    if (field.quoted) at += 1;
    field.start = at;
    for (;; at += 1) {
      const byte = at < bytes.length ? bytes[at] : 10;
      if (field.quoted) {
        if (at >= bytes.length) throw new Refused("the file of rows has a quotation mark that nothing ends");
        if (byte === 34) {
          if (bytes[at + 1] !== 34) break;
          at += 1;
        }
      } else if (byte === 44 || byte === 10 || byte === 13) break;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    field.end = at;
    field.hash = field.quoted ? ~hash : hash;
    if (field.quoted) at += 1;
    if (at < bytes.length && bytes[at] === 44) field.last = ",";
    else {
      if (at < bytes.length && bytes[at] === 13) at += 1;
      if (at < bytes.length && bytes[at] !== 10) throw new Refused("the file of rows is no CSV file");
      field.last = "\n";
    }
    at += 1;
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  do {
    next();
    header.push(decoder.decode(bytes.subarray(field.start, field.end)).replaceAll('""', '"'));
  } while (field.last === ",");
  const columns = header.map((name) => new Column(name));
  let rows = 0;
  while (at < bytes.length) {
    for (let place = 0; place < columns.length; place += 1) {
      next();
      if ((field.last === ",") !== (place < columns.length - 1)) throw new Refused(`row ${counted(rows + 1)} of the file has another number of cells than its header`);
      columns[place].put(rows, bytes, field.start, field.end, field.quoted, field.hash);
    }
    rows += 1;
    if (rows % 200000 === 0) await progress(`reading rows: ${counted(rows)}`);
  }
  const named = new Map();
  for (const column of columns) {
    if (named.has(column.name)) throw new Refused(`two columns are named ${repr(column.name)}`);
    named.set(column.name, column.finished(bytes, rows, types[column.name]));
  }
  return { rows, columns: named };
}

// --- groups of rows, and the values that stand in them

function joined(labels, count, codes, width) {
  const rows = codes.length, found = new Int32Array(rows), first = [], second = [];
  let next = 0;
  if (count * width <= 4e6 + 4 * rows) {
    const place = new Int32Array(count * width).fill(-1);
    for (let row = 0; row < rows; row += 1) {
      const key = labels[row] * width + codes[row];
      if (place[key] < 0) { place[key] = next; first.push(labels[row]); second.push(codes[row]); next += 1; }
      found[row] = place[key];
    }
  } else {
    const place = new Map();
    for (let row = 0; row < rows; row += 1) {
      const key = labels[row] * width + codes[row];
      let one = place.get(key);
      if (one === undefined) { one = next; place.set(key, next); first.push(labels[row]); second.push(codes[row]); next += 1; }
      found[row] = one;
    }
  }
  return { labels: found, count: next, first, second };
}

function sizes_of(labels, count) {
  const sizes = new Int32Array(count);
  for (let row = 0; row < labels.length; row += 1) sizes[labels[row]] += 1;
  return sizes;
}

function column_of(table, name) {
  const column = table.columns.get(name);
  if (!column) throw new Refused(`the release has no column ${repr(String(name))}`);
  return column;
}

function grouped(table, names) {
  let labels = new Int32Array(table.rows), count = Math.min(table.rows, 1);
  for (const name of names) {
    const column = column_of(table, name);
    ({ labels, count } = joined(labels, count, column.codes, column.values.length));
  }
  return { labels, count, sizes: sizes_of(labels, count) };
}

// Cells by group: of each the value's code and its rows.
function cells_of(groups, column) {
  const pairs = joined(groups.labels, groups.count, column.codes, column.values.length);
  const rows = sizes_of(pairs.labels, pairs.count), cells = Array.from({ length: groups.count }, () => []);
  for (let cell = 0; cell < pairs.count; cell += 1) cells[pairs.first[cell]].push([pairs.second[cell], rows[cell]]);
  return { cells, rows };
}

const broken_groups = (number, what) => (number ? [`${number} groups of the release break ${what}`] : []);

function diversity_breaches(groups, column, kind, value, c) {
  const { cells } = cells_of(groups, column), least = decimal(value), over = decimal(c === null ? undefined : c);
  const whole = kind !== "entropy", enough = kind === "entropy" ? Number(value) > 1 : Number(value) >= 2;
  if (!least || !enough || (whole && least.scale > 0)) throw new Refused("l must be above 1, and a whole number of at least 2 unless it is of entropy");
  if (kind === "recursive" && !(over && over.units > 0n)) throw new Refused("c must be a number above 0");
  const bottom = 10n ** BigInt(least.scale), top = least.units;
  let broken = 0;
  groups.sizes.forEach((size, group) => {
    const counts = cells[group].map(([, rows]) => rows);
    let holds;
    if (kind === "distinct") holds = BigInt(counts.length) * bottom >= top;
    else if (kind === "entropy") {
      const spread = counts.reduce((sum, count) => sum + count * Math.log(count), 0);
      const difference = Math.log(size) - spread / size - Math.log(Number(value));
      holds = difference >= -1e-15 * (counts.length + 10) * (1 + Math.log(size));
    } else {
      const most = counts.sort((a, b) => b - a)[0];
      const tail = counts.slice(Number(value) - 1).reduce((sum, count) => sum + count, 0);
      holds = BigInt(most) * 10n ** BigInt(over.scale) < over.units * BigInt(tail);
    }
    if (!holds) broken += 1;
  });
  return broken_groups(broken, `${kind} l-diversity of ${repr(column.name)}, l = ${value}`);
}

// Numerators and denominators as in Li, Li and Venkatasubramanian; t is compared exactly.
function closeness_breaches(groups, column, kind, t) {
  const { cells } = cells_of(groups, column), all = column.codes.length;
  const total = sizes_of(column.codes, column.values.length), limit = decimal(t);
  const order = column.values.map((_, code) => code).filter((code) => total[code] > 0);
  order.sort((a, b) => rank_of(column, a, b));
  const rank = new Int32Array(column.values.length);
  order.forEach((code, place) => { rank[code] = place; });
  let broken = 0;
  groups.sizes.forEach((size, group) => {
    let numerator = 0n, denominator = BigInt(size) * BigInt(all);
    if (kind === "equal") {
      let sum = 0, covered = 0;
      for (const [code, rows] of cells[group]) { sum += Math.abs(rows * all - total[code] * size); covered += total[code]; }
      numerator = BigInt(sum) + BigInt(size) * BigInt(all - covered);
      denominator *= 2n;
    } else {
      const held = new Map(cells[group].map(([code, rows]) => [rank[code], rows]));
      let own = 0, whole = 0;
      order.forEach((code, place) => {
        own += held.get(place) || 0;
        whole += total[code];
        if (place < order.length - 1) numerator += BigInt(Math.abs(own * all - whole * size));
      });
      denominator *= BigInt(Math.max(order.length - 1, 1));
    }
    if (numerator * 10n ** BigInt(limit.scale) > limit.units * denominator) broken += 1;
  });
  return broken_groups(broken, `${kind} t-closeness of ${repr(column.name)}, t = ${t}`);
}

function rank_of(column, a, b) {
  const one = column.values[a], other = column.values[b];
  if (one === null || other === null) return one === null ? 1 : -1; // missing is the last
  if (column.numbers) return compare(column.numbers[a], column.numbers[b]);
  return compare_points(one, other);
}

// --- claims

const shared_roles = { "k-anonymity": ["quasi_identifiers"], ranking: ["quasi_identifiers", "ranking"] };

function group_claim(claim, release) {
  const { table, document: said } = release;
  const names = shared_roles[claim.kind].flatMap((role) => said.roles[role] || []);
  if (!names.length) return ["the release shows no quasi-identifiers, so that nothing tells its groups"];
  if (said.groups) names.push(said.groups.column);
  const groups = grouped(table, names), by_rows = Boolean(claim.unit), breaches = [];
  breaches.push(...broken_groups(groups.sizes.filter((size) => size < claim.k).length, `k-anonymity, k = ${claim.k}`));
  for (const name of claim.l ? claim.l.columns : []) {
    const column = column_of(table, name);
    if (by_rows) breaches.push(...diversity_breaches(groups, column, "distinct", Math.max(Math.ceil(Number(claim.l.value)), 2)));
    else breaches.push(...diversity_breaches(groups, column, claim.l.kind, claim.l.value, claim.l.c));
  }
  if (claim.t && !claim.suppression_limit && !by_rows && claim.t.kind !== "hierarchical") {
    for (const name of claim.t.columns) breaches.push(...closeness_breaches(groups, column_of(table, name), claim.t.kind, claim.t.value));
  }
  if (claim.kind === "ranking") breaches.push(...box_breaches(claim, release));
  return breaches;
}

function box_breaches(claim, { table, document: said }) {
  const boxes = ((said.method.decision || {}).groups) || [];
  if (!said.groups || !boxes.length) return ["it does not state the precision of each group"];
  const column = column_of(table, said.groups.column), sizes = sizes_of(column.codes, column.values.length);
  const shown = new Map(column.values.map((text, code) => [Number(text), sizes[code]]));
  const stated = new Map(boxes.map((box) => [box.group, box.rows]));
  const alike = stated.size === boxes.length && stated.size === shown.size
    && [...stated].every(([group, rows]) => shown.get(group) === rows);
  const short = boxes.filter((box) => !(box.precision >= claim.precision - 5e-7)).length;
  return [
    ...(alike ? [] : ["its groups do not have the rows that it states of them"]),
    ...(short ? [`${short} groups have a precision below the ${claim.precision} that it claims`] : []),
  ];
}

function ke_claim(claim, { table, document: said }) {
  if (!said.groups) return ["the release does not number its groups"];
  const column = column_of(table, (said.roles.sensitive || [])[0]);
  if (!column.numbers) return [`column ${repr(column.name)} does not hold numbers`];
  const numbers = column_of(table, said.groups.column).numbers;
  if (!numbers || numbers.some((one) => !one || one.scale > 0)) return ["some rows have no whole number of a group"];
  if (column.values.includes(null)) throw new Refused(`column ${repr(column.name)} lacks values`);
  const groups = grouped(table, [said.groups.column]), { cells } = cells_of(groups, column);
  const e = decimal(claim.e), scale = Math.max(e.scale, ...column.numbers.map((one) => one.scale));
  const units = column.numbers.map((one) => rescaled(one, scale)), least = rescaled(e, scale);
  let broken = 0;
  for (const held of cells) {
    let low = units[held[0][0]], high = low;
    for (const [code] of held) { if (units[code] < low) low = units[code]; if (units[code] > high) high = units[code]; }
    if (held.length < claim.k || high - low < least) broken += 1;
  }
  return broken ? [`${broken} groups of the release are not (${claim.k}, ${claim.e})-valid`] : [];
}

function privacy_claim(claim, release) {
  const said = release.document, rows = claim.rows_per_person || 1, breaches = [];
  for (const [name, shown] of Object.entries(said.columns)) {
    if (shown.kind !== "noisy") continue;
    const spent = ((claim.budget || {})[name] || {})["discrete-laplace"];
    const epsilon = Number(spent === undefined ? claim.epsilon : spent);
    for (const cluster of shown.clusters) {
      const own = isNumber(cluster.low) && isNumber(cluster.high);
      const whole = shown.clusters.length === 1 && shown.clamp ? shown.clamp[1] - shown.clamp[0] : 0;
      const width = own ? cluster.high - cluster.low : whole;
      if (width && cluster.scale * epsilon < rows * width * (1 - 1e-5)) {
        breaches.push(`column ${repr(name)} has noise of scale ${Number(cluster.scale.toPrecision(6))}, which is too little for the epsilon of ${epsilon} that is claimed of it`);
      }
    }
  }
  return [...breaches, ...budget_breaches(claim)];
}

function budget_breaches(claim) {
  if (!claim.budget) return [];
  const spent = Object.values(claim.budget).flatMap((each) => Object.values(each)).reduce((sum, one) => sum + Number(one), 0);
  return near(spent, Number(claim.epsilon), 1e-5) ? [] : [`the budgets that it states add up to ${spent}, and it claims ${claim.epsilon}`];
}

function sampled_claim(claim, release) {
  const { table, document: said } = release, own = said.groups ? said.groups.column : null;
  const groups = grouped(table, [...table.columns.keys()].filter((name) => name !== own));
  const breaches = broken_groups(groups.sizes.filter((size) => size < claim.k).length, `k-anonymity, k = ${claim.k}`);
  if (!isNumber(said.sampled) || !same(claim.beta, said.sampled)) breaches.push("rows were sampled with another probability than the one that it claims");
  return [...breaches, ...privacy_claim(claim, release)];
}

function permutation_claim(claim, { table, document: said }) {
  const shown = Object.keys(said.columns).filter((name) => said.columns[name].kind === "permuted").sort();
  if (!said.groups || [...new Set(claim.permuted)].sort().join("\0") !== shown.join("\0")) return ["it does not show the columns that it permutes as permuted"];
  const groups = grouped(table, [said.groups.column]), breaches = [];
  const number = column_of(table, said.groups.column), sizes = sizes_of(number.codes, number.values.length);
  const order = number.values.map((_, code) => code).sort((a, b) => Number(number.values[a]) - Number(number.values[b]));
  if (order.length !== claim.clusters || order.some((code, place) => Number(number.values[code]) !== place + 1)) {
    breaches.push(`its clusters are not numbered from 1 to ${claim.clusters}`);
  } else if (claim.sizes && claim.sizes.join() !== order.map((code) => sizes[code]).join()) {
    breaches.push("its clusters are not of the sizes that it states");
  }
  const sensitive = said.roles.sensitive || [];
  if (!sensitive.length || grouped(table, [...sensitive, said.groups.column]).count !== grouped(table, sensitive).count) {
    breaches.push("some combination of sensitive values stands in several clusters");
  }
  if (!claim.permuted.every((name) => (said.roles.quasi_identifiers || []).includes(name))) {
    return [...breaches, "what it permutes are not quasi-identifiers that it publishes"];
  }
  const arrangements = claim.permuted.reduce((sum, name) => sum + log_arrangements(groups, column_of(table, name)), 0);
  if (!near(arrangements, claim.log_arrangements, 1e-9)) breaches.push("its permuted columns have another number of arrangements than it states");
  return breaches;
}

function log_arrangements(groups, column) {
  const { rows } = cells_of(groups, column), most = Math.max(0, ...groups.sizes), logs = new Float64Array(most + 1);
  if (rows.length === groups.count) return 0;
  let low = 0; // the part of the sum that doubles lose (Kahan)
  for (let n = 1; n <= most; n += 1) {
    const add = Math.log(n) - low, sum = logs[n - 1] + add;
    low = sum - logs[n - 1] - add;
    logs[n] = sum;
  }
  const sum_of = (counts) => counts.reduce((sum, count) => sum + logs[count], 0);
  return Math.max(0, sum_of([...groups.sizes]) - sum_of([...rows]));
}

function moved_claim(claim, { table, document: said }) {
  const shown = Object.entries(said.columns), moved = shown.filter(([, one]) => one.kind === "moved");
  const remaining = shown.filter(([, one]) => one.kind === "remaining"), breaches = [];
  const turning = moved.some(([, one]) => one.law.kind === "angle-selection");
  if (claim.trajectory && (turning || claim.kind.endsWith("within-zones"))) breaches.push("it promises for trajectories what holds for single reports");
  if (moved.length && remaining.length) breaches.push("it shows positions beside remaining distances");
  if (claim.costliest_trip && ![...grouped(table, said.roles.trip || []).sizes].includes(claim.costliest_trip.reports)) {
    breaches.push("no trip has as many reports as the costliest one that it states");
  }
  for (const [name, one] of [...moved, ...remaining]) {
    const largest = Math.max(...one.zones.levels) / Math.min(...(one.zones.radii || [1]));
    if (claim.epsilon < largest * (1 - 1e-5)) breaches.push(`column ${repr(name)} has noise of ${Number(largest.toPrecision(6))} per metre, and an epsilon of ${claim.epsilon} is claimed`);
  }
  return breaches;
}

const of_unit = (claim) => (claim.unit ? [`of which ${claim.unit} a row is: rows were counted`] : []);

function unseen_of_groups(claim) {
  const hidden = claim.suppression_limit || claim.unit || (claim.t && claim.t.kind === "hierarchical");
  return [
    ...of_unit(claim),
    ...(claim.suppression_limit ? ["how many rows were left out"] : []),
    ...(claim.t && hidden ? ["t-closeness, which compares with rows or a hierarchy not published"] : []),
    ...(claim.criteria && claim.criteria.length ? ["further criteria, which voile recount counts"] : []),
    ...(claim.kind === "ranking" ? ["the precision of boxes, which counts rows not published"] : []),
  ];
}

const CLAIMS = {
  "k-anonymity": { count: group_claim, unseen: unseen_of_groups },
  ranking: { count: group_claim, unseen: unseen_of_groups },
  "ke-anonymity": {
    count: ke_claim,
    unseen: of_unit,
  },
  "differential-privacy": { count: privacy_claim, unseen: () => [NO_DRAWS] },
  "differential-privacy-under-sampling": { count: sampled_claim, unseen: () => [NO_DRAWS] },
  "indistinguishability-within-clusters": { count: () => [], unseen: () => ["that noise was drawn from the stated distribution"] },
  "permutation-within-clusters": { count: permutation_claim, unseen: (claim) => [...of_unit(claim), "that values were permuted at random"] },
  "geo-indistinguishability": { count: moved_claim, unseen: () => ["that positions were moved by the stated noise", "what trips and vehicles spent"] },
};
CLAIMS["geo-indistinguishability-within-zones"] = CLAIMS["geo-indistinguishability"];
// Claims that this version of Voile makes, of which the page counts some.
const KNOWN = new Set(SCHEMAS.release.$defs.Claim.anyOf.map((one) =>
  (one.$ref ? SCHEMAS.release.$defs[one.$ref.split("/").pop()] : one).properties.kind.const));

// --- what cells contradict of what is stated of their column

function number_at(column, code) { return column.numbers && column.numbers[code] ? Number(column.values[code]) : NaN; }

function noisy_breaches(name, shown, release) {
  const { table } = release, value = column_of(table, name);
  let ends = [`${name}.low`, `${name}.high`];
  if (shown.ends === "text") throw new Unread(`the intervals of column ${repr(name)} are texts, which voile recount reads`);
  ends = ends.map((one) => column_of(table, one));
  if (![value, ...ends].every((one) => one.numbers)) return [`column ${repr(name)} does not hold numbers`];
  let lacking = 0, off = 0, beyond = 0, wrong = 0;
  const [least, most] = shown.clamp || [-Infinity, Infinity];
  const of = (column) => column.values.map((_, code) => number_at(column, code));
  const [values, lows, highs] = [value, ...ends].map(of);
  for (let row = 0; row < table.rows; row += 1) {
    const x = values[value.codes[row]], low = lows[ends[0].codes[row]], high = highs[ends[1].codes[row]];
    if (Number.isNaN(x) !== Number.isNaN(low) || Number.isNaN(x) !== Number.isNaN(high)) lacking += 1;
    if (Number.isNaN(x)) continue;
    const slack = shown.step * 1e-3 + Math.abs(x) * 1e-7;
    if (Math.abs(x - Math.round(x / shown.step) * shown.step) > slack) off += 1;
    if (x < least - slack || x > most + slack) beyond += 1;
    const fits = shown.clusters.some((cluster) =>
      Math.abs(low - Math.max(x - cluster.half_width, least)) <= slack
      && Math.abs(high - Math.min(x + cluster.half_width, most)) <= slack);
    if (!fits) wrong += 1;
  }
  return [
    ...(lacking ? [`column ${repr(name)} shows values without intervals, or intervals without values`] : []),
    ...(off ? [`column ${repr(name)} has values that do not lie on the grid of its noise`] : []),
    ...(beyond ? [`column ${repr(name)} has values beyond its public bounds`] : []),
    ...(wrong ? [`column ${repr(name)} has intervals other than those of its noise`] : []),
    ...width_breaches(name, shown, release.document.method.confidence),
  ];
}

function width_breaches(name, shown, confidence) {
  if (!isNumber(confidence)) return [];
  if (!(confidence >= 0 && confidence < 1)) throw new Refused("the confidence must be at least 0 and below 1");
  const miss = 1 - confidence, breaches = [];
  for (const cluster of shown.clusters) { // P(|Z| > r) = 2 a^(r + 1) / (1 + a) with a = exp(-1 / scale)
    const scale = cluster.scale / shown.step, width = cluster.half_width / shown.step;
    const a = Math.exp(-1 / scale);
    const asked = Math.max(0, Math.ceil(scale * Math.log(2 / (miss * (1 + a))) - 1 - 1e-9));
    if (Math.abs(width - asked) > 1 + asked * 1e-5) breaches.push(`column ${repr(name)} has intervals that are not of confidence ${confidence}, which it states`);
  }
  return breaches;
}

function coordinate_breaches(name, shown, { table }) {
  const column = column_of(table, name), limit = shown.coordinate === "latitude" ? 90 : 180;
  if (!column.numbers || column.numbers.some((one) => one && one.scale > shown.decimals)) return [`column ${repr(name)} does not lie on the grid that it states`];
  const far = column.values.some((text) => text !== null && Math.abs(Number(text)) > limit);
  return far ? [`column ${repr(name)} shows what cannot be a ${shown.coordinate}`] : [];
}

function remaining_breaches(name, shown, { table }) {
  const column = column_of(table, name);
  if (!column.numbers || column.numbers.some((one) => one && one.scale > 0)) return [`column ${repr(name)} does not lie on the grid that it states`];
  return column.numbers.some((one) => one && one.units < 0n) ? [`column ${repr(name)} shows distances below 0`] : [];
}

function coded_unread(name) {
  throw new Unread(`that column ${repr(name)} shows nothing but coded values: voile recount counts it`);
}

// How a column is shown behind its codings.
function behind(shown) { return shown.kind === "coded" && shown.then ? behind(shown.then) : shown; }

const CELLS = { noisy: noisy_breaches, moved: coordinate_breaches, remaining: remaining_breaches };

// --- what stands in words, which follows from the claims: as voile.release.check says

const NUMBER = "-?\\d+(?:,\\d{3})*(?:\\.\\d+)?(?:e[+-]?\\d+)?", AGREES = 1 / 200, CODAS = "(?:; |\\. )";
const WORD = 64, TEXT = 200, ROOM = 16384, NUMBERS = 4096, EACH_ROW = 16;
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
const whole = (pattern, text) => new RegExp(`^(?:${pattern})$`, "su").test(text);
const points = (text) => [...text].length;

function quoted(name) { // as Python's repr writes it
  const told = repr(name.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t"));
  return told[0] === "'" ? `'${told.slice(1, -1).replace(/'/g, "\\'")}'` : told;
}

function leaves(value, keys = false, found = []) {
  if (Array.isArray(value)) value.forEach((one) => leaves(one, keys, found));
  else if (value && typeof value === "object") {
    for (const [key, one] of Object.entries(value)) {
      if (keys) found.push(key);
      leaves(one, keys, found);
    }
  } else if (keys || (value !== null && value !== undefined)) found.push(value);
  return found;
}

function fraction(value) {
  if (typeof value !== "number" && typeof value !== "string") return NaN;
  const parts = /^(-?[\d.]+(?:e[+-]?\d+)?)(?:\/(\d+))?$/i.exec(String(value).replace(/^'|'$/g, ""));
  return parts ? Number(parts[1]) / Number(parts[2] || 1) : NaN;
}

function names_in(said, claims) {
  const found = new Set([...Object.keys(said.columns || {}), ...Object.keys(said.types || {}), ...Object.values(said.roles || {}).flat()]);
  leaves(claims).forEach((one) => { if (typeof one === "string") found.add(one); });
  return found;
}

function name_breaches(said) {
  if (!said.columns) return [];
  const shown = new Set(Object.keys(said.columns).flatMap((name) => ["", ".low", ".high", ".interval"].map((end) => name + end)));
  if (said.groups) shown.add(said.groups.column);
  const named = [...Object.values(said.roles || {}).flat(), ...Object.keys(said.types || {})];
  const strange = named.some((name) => !shown.has(name)) || Object.keys(said.roles || {}).some((role) => !/^[a-z_]{1,32}$/.test(role));
  return strange ? ["it states roles or types of what is no published column"] : [];
}

function method_breaches(said, claims) {
  const keys = SCHEMAS.wording.methods, method = said.method;
  const stated = [method, ...(method.steps || []).filter((one) => "name" in one)];
  for (const each of stated) {
    if (!Object.hasOwn(keys, each.name)) return [`its method ${repr(String(each.name))} is none that is known here`];
    const unknown = Object.keys(each).filter((key) => !keys[each.name].includes(key) && !["name", "decision", "steps"].includes(key)).sort();
    if (unknown.length) return [`its method states ${repr(unknown[0])}, which is no parameter of ${repr(each.name)}`];
  }
  const names = names_in(said, claims), all = leaves(method, true);
  const words = stated.flatMap((one) => Object.values(one)).filter((one) => typeof one === "string" && !names.has(one));
  const texts = [...new Set(all.filter((one) => typeof one === "string" && !names.has(one)))];
  const bytes = texts.reduce((sum, one) => sum + new TextEncoder().encode(one).length, 0);
  const much = words.some((one) => points(one) > WORD) || texts.some((one) => points(one) > TEXT) || bytes > ROOM || all.length > NUMBERS + EACH_ROW * said.rows;
  return much ? ["its method states more than parameters and what the data show of its decision"] : [];
}

function patterns_of(said, claims) {
  const names = [...names_in(said, claims)].map((one) => escaped(quoted(one))).join("|"), one = `(?:${names || "(?!)"})`;
  const fixed = { names: `${one}(?:(?:, | and of | and |; )${one})*`, series: escaped(said.series ? quoted(said.series.name) : "None"), "*": NUMBER };
  const marks = { "{{": "\\{", "||": "\\|", "⟨": "(?:", "⟩": ")", "⟩*": ")*", "|": "|" };
  const slot = (name, text) => {
    if (Object.hasOwn(SCHEMAS.wording.parts, name)) return pattern(SCHEMAS.wording.parts[name], text);
    if (name === "criterion") return "(?!)";
    if (Object.hasOwn(fixed, name)) return fixed[name];
    const less = name.endsWith("-1") ? 1 : 0;
    const known = name.split("|").flatMap((path) => claims.flatMap((claim) => leaves(claim[path.replace(/-1$/, "")])));
    const words = known.filter((each) => typeof each === "string"), numbers = known.map((each) => fraction(each) - less);
    const shown = (text.match(new RegExp(NUMBER, "g")) || []).filter((each) => numbers.some((number) =>
      Math.abs(Number(each.replace(/,/g, "")) - number) <= AGREES * Math.abs(number)));
    const all = [...new Set([...words, ...words.map(quoted), ...shown])].sort((a, b) => b.length - a.length);
    return all.map(escaped).join("|") || "(?!)";
  };
  function pattern(piece, text) {
    const parts = piece.split(/(\{\{|\|\||\{[^{}]*\}|⟨|⟩\*?|\|)/);
    return `(?:${parts.map((part) => {
      if (Object.hasOwn(marks, part)) return marks[part];
      if (part.startsWith("{-")) return "";
      return part.startsWith("{") ? `(?:${slot(part.slice(1, -1), text)})` : escaped(part);
    }).join("")})`;
  }
  return pattern;
}

function wording_breaches(said, claims) {
  if (claims.some((claim) => !KNOWN.has(claim.kind))) return [];
  const criteria = claims.flatMap((claim) => claim.criteria || []).filter((one) => !SCHEMAS.wording.criteria.includes(one.name));
  if (criteria.length) throw new Unread(`what its statement says of ${repr(String(criteria[0].name))}: voile recount knows such a criterion, where it is installed`);
  const { promises, shared } = SCHEMAS.wording, kinds = new Set(claims.map((claim) => claim.kind));
  const known = promises.filter((one) => one.claims.every((kind) => kinds.has(kind))), pattern = patterns_of(said, claims);
  const any_of = (pieces, text) => pieces.map((one) => pattern(one, text)).join("|");
  const states = (promise, text) => whole(`(?:${any_of(promise.says, text)})${promise.and ? `(?:${CODAS}(?:${any_of(promise.and, text)}))*` : ""}`, text);
  const breaches = [...name_breaches(said), ...method_breaches(said, claims)], used = [];
  let text = said.guarantee.statement;
  for (const opening of shared.says) text = text.replace(new RegExp(`^${pattern(opening, text)}: `, "su"), "");
  for (const part of text.split("; and ")) {
    const promise = known.find((one) => states(one, part));
    if (!promise) return [...breaches, "its statement says what does not follow from its claims"];
    used.push(promise);
  }
  const covered = new Set(used.flatMap((one) => one.claims));
  if (![...kinds].every((kind) => covered.has(kind))) return [...breaches, "its statement says what does not follow from its claims"];
  const among = (sentence, pieces) => pieces.some((one) => whole(pattern(one, sentence), sentence));
  const all = (key) => used.flatMap((one) => one[key] || []), assumes = said.guarantee.assumes, open = said.guarantee.leaves_open || [];
  const spared = (need) => {
    const mark = /^\{-([^}]*)\}/.exec(need);
    return mark && mark[1].split("|").some((key) => claims.some((claim) => claim[key] !== null && claim[key] !== undefined));
  };
  const allowed = [...all("needs"), ...all("may"), ...all("open"), ...shared.may];
  if (!assumes.every((one) => among(one, allowed))) breaches.push("it assumes what does not belong to its claims");
  if (all("needs").some((need) => !spared(need) && !assumes.some((one) => among(one, [need])))) breaches.push("it leaves out what its promise assumes or does not cover");
  if (!open.every((one) => assumes.includes(one) && among(one, all("open")))) breaches.push("it says of an assumption that nobody has to make sure of it");
  return breaches;
}

// --- one release

function published_columns(said) {
  const found = said.groups ? [said.groups.column] : [];
  for (const [name, one] of Object.entries(said.columns)) {
    const shown = behind(one);
    if (shown.kind === "withheld") continue;
    if (shown.kind === "noisy" && shown.ends !== "text") found.push(name, `${name}.low`, `${name}.high`);
    else if (shown.kind === "noisy") found.push(name, `${name}.interval`);
    else if (shown.kind === "interval" && (shown.ends || "columns") === "columns") found.push(`${name}.low`, `${name}.high`);
    else if (shown.kind === "aggregate") found.push(name, `${name}.low`, `${name}.high`);
    else found.push(name);
  }
  return found;
}

function first_misfit(said) {
  const whole = misfit(said, SCHEMAS.release, "release.json", SCHEMAS.release.$defs || {});
  if (whole) return whole;
  if (typeof said.method.name !== "string") return "release.json: method: the method needs a name";
  if (Object.values(said.columns).some((one) => behind(one).kind === "permuted") && !said.groups) return "release.json: columns are permuted within groups, and no groups are stated";
  return null;
}

async function file_breaches(said, folder, read) {
  const breaches = [], listed = [...said.data, ...(said.measurements || []), ...(said.page || []), ...(said.reading || [])];
  for (const part of listed) {
    if (!folder.has(part.file)) breaches.push(`${part.file}: this part of the release is missing`);
    else {
      const bytes = await read(part.file);
      if (bytes.length !== part.bytes || await sha256(bytes) !== part.sha256) breaches.push(`${part.file}: this file was changed since it was published`);
    }
  }
  const names = new Set(listed.map((part) => part.file));
  for (const name of folder.keys()) {
    if (!names.has(name) && name !== "release.json" && name !== "signatures.json") breaches.push(`${name}: the release does not list this file`);
  }
  return breaches;
}

function counted_again(find, ...asked) {
  try {
    return { breaches: find(...asked), unread: [] };
  } catch (error) {
    if (error instanceof Unread) return { breaches: [], unread: [error.message] };
    if (error instanceof Refused) return { breaches: [`a statement of release.json does not fit the rows: ${error.message}`], unread: [] };
    return { breaches: ["a statement of release.json does not fit the rows: it cannot be measured"], unread: [] };
  }
}

function recounted_claim(claim, place, release) {
  const kind = CLAIMS[claim.kind];
  if (!kind && KNOWN.has(claim.kind)) return { claim, breaches: [], unseen: [], unread: ["all of it: voile recount counts it"] };
  if (!kind) return { claim, breaches: [`there is no check for guarantees of kind ${repr(String(claim.kind))}`], unseen: [], unread: [] };
  const found = release.table && release.table.rows ? counted_again(kind.count, claim, release) : { breaches: [], unread: [] };
  if (place === 0 && release.table) {
    for (const name of SAME) {
      const asked = release.document.method[name], claimed = claim[name];
      if (isNumber(asked) && isNumber(claimed) && !same(asked, claimed)) found.breaches.push(`it claims ${name} = ${claimed}, and its method was asked for ${asked}`);
    }
  }
  const together = release.document.series ? [TOGETHER] : [];
  return { claim, breaches: found.breaches, unseen: [...kind.unseen(claim), ...together], unread: found.unread };
}

// folder: names of the files below it; read: a name -> its bytes.
async function recount(folder, read, progress = async () => {}) {
  const found = { broken: [], claims: [], unread: [], signers: [], note: "", policy: "", untrue: [], rows: 0, files: 0, document: null };
  if (!folder.has("release.json")) throw new Unread("this is not a release: it has no release.json");
  let said;
  try {
    said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await read("release.json")));
  } catch {
    found.broken.push("release.json: this is not JSON");
    return found;
  }
  const wrong = typeof said === "object" && said && typeof said.form === "string" ? null : first_misfit(said);
  if (wrong) { found.broken.push(wrong); return found; }
  found.document = said;
  await progress("comparing hashes");
  if (!Array.isArray(said.data)) { found.broken.push("release.json: it lists no file with its SHA-256"); return found; }
  found.broken.push(...await file_breaches(said, folder, read));
  const signed = await signatures_of(folder, read);
  found.broken.push(...signed.breaches);
  Object.assign(found, { signers: signed.signers, note: signed.note, files: said.data.length });
  if (signed.signers.length) Object.assign(found, { policy: String(signed.statement.policy), untrue: [].concat(signed.statement.untrue || []) });
  if (typeof said.form === "string" && said.guarantee && typeof said.method === "object") {
    const { statement: _, assumes: __, leaves_open: ___, further: more, ...only } = said.guarantee;
    found.broken.push(...counted_again(wording_breaches, said, [only, ...(more || [])]).breaches);
  }
  if (typeof said.form === "string") { found.unread.push(`a release of ${said.form}: voile recount counts its cells`); return found; }
  if (found.broken.length) return found;
  const { statement, assumes, leaves_open, further, ...first } = said.guarantee;
  const claims = [first, ...(further || [])];
  const release = { document: said, table: null };
  const words = counted_again(wording_breaches, said, claims);
  found.broken.push(...words.breaches);
  found.unread.push(...words.unread);
  if (said.data.length === 1 && said.data[0].file === "data.csv") {
    try {
      release.table = await table_of(await read("data.csv"), said.types || {}, progress);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      found.broken.push(error.message);
      return found;
    }
    const shown = [...release.table.columns.keys()].sort().join("\0");
    if (shown !== published_columns(said).sort().join("\0")) { found.broken.push("the rows of a release and its disclosure do not match"); return found; }
    found.rows = release.table.rows;
    if (said.rows !== found.rows) found.broken.push(`its files have ${counted(found.rows)} rows, and it states ${said.rows}`);
  } else found.unread.push("its rows are no CSV file: their hashes are compared, and voile recount counts them");
  await progress("counting claims");
  found.claims = claims.map((claim, place) => recounted_claim(claim, place, release));
  for (const [name, shown] of release.table && found.rows ? Object.entries(said.columns) : []) {
    const cells = CELLS[behind(shown).kind], asked = shown.kind === "coded" ? [coded_unread] : [];
    for (const find of cells ? [...asked, cells] : asked) {
      const told = counted_again(find, name, behind(shown), release);
      found.broken.push(...told.breaches);
      found.unread.push(...told.unread);
    }
  }
  found.unread.push(...found.claims.flatMap((one) => one.unread.map((what) => `${one.claim.kind}: ${what}`)));
  found.broken.push(...found.claims.flatMap((one) => one.breaches));
  return found;
}

function verdict_of(found) {
  if (found.broken.length) return ["broken", "This release is not what it claims. Do not rely on it."];
  if (found.unread.length) return ["partly", "Nothing that was counted contradicts this release. Not all of it was counted here."];
  return ["holds", "Nothing in this folder contradicts what the release claims."];
}
