// The page around it: a folder that is chosen or dropped, and what was found, in words.

// A sentence that begins with the name of a file keeps it as it is.
const capital = (sentence) => /^\S+\.\w+(:|$)/.test(sentence) ? sentence : sentence.slice(0, 1).toUpperCase() + sentence.slice(1);
const element = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text || "", className: kind || "" });

function listed(title, sentences, kind) {
  const part = element("section", "", kind), list = element("ul");
  part.append(element("h2", title), list);
  sentences.forEach((one) => list.append(element("li", `${capital(one)}.`)));
  return sentences.length ? [part] : [];
}

// What is claimed, in numbers, and the names of further criteria.
function parameters([name, value]) {
  if (name === "suppression_limit") return [`up to ${Number((100 * value).toPrecision(6))} % of the rows left out`];
  if (isNumber(value)) return [`${name} = ${value}`];
  if (name === "criteria" && value) return value.map((one) => one.name);
  return value && isNumber(value.value) ? [`${name} = ${value.value}`] : [];
}

function told(one) {
  const stated = Object.entries(one.claim).flatMap(parameters);
  const holds = one.breaches.length ? "does not hold" : one.unread.length ? "not counted here"
    : one.unseen.length ? "not contradicted by the rows" : "holds";
  const item = element("section", "", one.breaches.length ? "broken" : "");
  item.append(element("h3", `Claim ${one.claim.kind}${stated.length ? ` (${stated.join(", ")})` : ""}: ${holds}.`));
  one.unseen.forEach((what) => item.append(element("p", `Not visible in the rows: ${what}.`)));
  one.unread.forEach((what) => item.append(element("p", `Not counted here: ${what}.`)));
  return item;
}

// The policy that was signed: its name, for whom it is meant, and its whole text.
function policy_told(text, broken) {
  const stated = (key) => (new RegExp(`^${key}\\s*=\\s*"(.*)"\\s*$`, "m").exec(text) || [])[1];
  const whole = element("details"), audience = stated("audience");
  whole.append(element("summary", "Its text"), element("pre", text));
  return [element("h2", "Checked against a policy"),
    element("p", `${stated("name") || "A policy"}${audience ? `, for ${audience}` : ""}: the signer says that the release has passed${broken ? " as it was signed, which this folder is not" : ""}. The evidence is private; the text of the policy has the terms for recipients.`), whole];
}

// Whether the key that the recipient gave is that of a signature which holds, in words.
function key_told(found) {
  const given = document.getElementById("key").value.trim().toLowerCase();
  const signed = found.signers.map((one) => String(one.key).toLowerCase());
  if (!given && !signed.length && !found.note) return ["partly", "No signature in this folder holds, so that whoever changed it could have made all else fit. Ask whom you have it from for the release as it was signed, and for the key."];
  if (!given) return signed.length ? ["partly", "Paste above the public key that the signer gave you by another way, and this page says whether the release is signed with it."] : ["", ""];
  const key = given.startsWith("ed25519:") ? given : `ed25519:${given}`;
  if (!/^ed25519:[0-9a-f]{64}$/.test(key)) return ["broken", "What stands above is no public key: that is ed25519: and 64 digits and letters from a to f."];
  if (found.note) return ["partly", "Whether the release is signed with the key above was not checked."];
  if (!signed.length) return ["broken", "No signature in this folder holds, so that the key above says nothing of it. Ask the signer."];
  const roles = found.signers.filter((one) => String(one.key).toLowerCase() === key).map((one) => repr(one.role));
  if (roles.length && found.broken.length) return ["partly", `The key above is that of the signature as ${roles.join(" and ")}; what was signed with it is not what stands in this folder.`];
  return roles.length ? ["holds", `The key above is that of the signature as ${roles.join(" and ")}.`]
    : ["broken", "The key above is not that of any signature in this folder: another has signed it. Do not rely on it before the signer has told you why."];
}

let last = null; // what was found in the folder that was chosen

function show(found) {
  const place = document.getElementById("found"), [kind, sentence] = verdict_of(found), [match, words] = key_told(found);
  last = found;
  place.replaceChildren();
  const unsigned = !found.signers.length && !found.note;
  place.append(element("p", sentence, `verdict ${unsigned && kind === "holds" ? "partly" : kind}`));
  const of_key = element("p", words, `verdict key ${match}`);
  if (words) place[match === "broken" || unsigned ? "prepend" : "append"](of_key);
  place.append(...listed("What contradicts it", found.broken, "broken"));
  if (found.document && found.document.publishable === false) place.append(element("p", "It says of itself that it must not be published: it was made with a known seed, or by a method that is known to leak.", "warning"));
  if (found.document && found.document.guarantee) {
    place.append(element("h2", "What it promises"), element("p", `${capital(found.document.guarantee.statement)}.`));
    found.claims.forEach((one) => place.append(told(one)));
    if (found.document.series) place.append(element("p", "This page reads one folder, and cannot count what is promised of several releases of the series together.", "warning"));
    const uncovered = found.document.guarantee.leaves_open || [];
    place.append(...listed("What must be true for that; no file shows it, so ask who signed whether it is", (found.document.guarantee.assumes || []).filter((one) => !uncovered.includes(one) && !found.untrue.includes(one))));
    place.append(...listed("Assumptions that do not hold: the signer knows it, and has accepted the release", found.untrue, "warning"));
    place.append(...listed("What it does not cover", uncovered));
  }
  place.append(...listed("Not counted here", found.unread));
  place.append(element("h2", "Files"));
  place.append(element("p", `${found.files === 1 ? "One file" : `${counted(found.files)} files`} of rows${found.rows ? `, ${counted(found.rows)} rows` : ""}; hashes are SHA-256.`));
  found.signers.forEach((one) => place.append(element("p", `Signed as ${repr(one.role)} by ${one.key}. Whose key that is, this page knows only by the key that you paste above.`)));
  if (found.note) place.append(element("p", found.note));
  if (found.policy) place.append(...policy_told(found.policy, found.broken.length));
  document.title = `${kind}: verify a release`;
}

async function entries_of(entry, found) {
  if (entry.isFile) found.push([entry.fullPath, await new Promise((good, bad) => entry.file(good, bad))]);
  else {
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((good, bad) => reader.readEntries(good, bad));
      if (!some.length) break;
      for (const one of some) await entries_of(one, found);
    }
  }
}

// The folder that release.json stands in; hidden files of the system are none of it.
function folder_of(files) {
  const tops = files.map(([path]) => path).filter((path) => /(^|\/)release\.json$/.test(path)).sort((a, b) => a.length - b.length);
  if (!tops.length) throw new Unread("this is not a release: it has no release.json");
  if (tops.length > 1 && tops[1].split("/").length === tops[0].split("/").length) throw new Unread("there are several releases here: choose the folder of one");
  const top = tops[0].slice(0, -"release.json".length);
  return new Map(files.filter(([path]) => path.startsWith(top)).map(([path, file]) => [path.slice(top.length), file])
    .filter(([path]) => !/(^|\/)(\.DS_Store|desktop\.ini|Thumbs\.db)$/.test(path)));
}

async function verify(files) {
  const status = document.getElementById("status");
  document.getElementById("found").replaceChildren();
  last = null;
  try {
    const folder = folder_of(files), kept = new Map();
    const read = async (name) => {
      if (!kept.has(name)) kept.set(name, new Uint8Array(await folder.get(name).arrayBuffer()));
      return kept.get(name);
    };
    show(await recount(folder, read, async (stage) => {
      status.textContent = `${stage} …`;
      await new Promise((done) => setTimeout(done));
    }));
    status.textContent = "Done. Nothing has left this computer.";
  } catch (error) {
    status.textContent = error instanceof Unread ? `${capital(error.message)}.` : "This folder cannot be read; take it as it was made, or use voile recount.";
    document.title = "not read: verify a release";
  }
}

document.getElementById("folder").addEventListener("change", (event) =>
  verify([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file])));
document.getElementById("key").addEventListener("input", () => last && show(last));
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  const found = [];
  for (const entry of [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean)) await entries_of(entry, found);
  await verify(found);
});
