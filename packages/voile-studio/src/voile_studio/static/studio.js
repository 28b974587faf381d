"use strict";
// Copy buttons, columns that are searched and ticked, messages about requests that were refused, and the line of an error in the plan.

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = "Press Ctrl-C";
  }
});

document.addEventListener("htmx:responseError", (event) => {
  const toast = document.getElementById("toast");
  toast.textContent = event.detail.xhr.responseText.slice(0, 500);
  event.detail.elt.setAttribute("aria-invalid", "true");
});
document.addEventListener("htmx:sendError", () => {
  document.getElementById("toast").textContent = "Studio does not answer: was it ended in the terminal?";
});
document.addEventListener("htmx:beforeRequest", (event) => {
  document.getElementById("toast").textContent = "";
  event.detail.elt.removeAttribute("aria-invalid");
});

// "Line 12" moves the cursor of the plan's text to that line.
document.addEventListener("click", (event) => {
  const link = event.target.closest("#wrong a[href='#text']");
  const text = document.getElementById("text");
  if (!link || !text) return;
  const line = parseInt(link.textContent.replace(/\D+/g, ""), 10);
  const lines = text.value.split("\n");
  const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  event.preventDefault();
  text.focus();
  text.setSelectionRange(begin, begin + (lines[line - 1] || "").length);
  text.scrollTop = (line - 4) * (text.scrollHeight / Math.max(1, lines.length));
});

// Columns of a plan: which are shown, in which order, and ticks for all that are.
const listing = { find: "", show: "", sort: "" };

function list() {
  const body = document.querySelector("table.plan tbody");
  if (!body || !document.getElementById("find")) return;
  const words = listing.find.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...body.rows];
  for (const row of rows) {
    const name = row.dataset.name.toLowerCase();
    const fits =
      !listing.show ||
      (listing.show === "asked" ? "asked" in row.dataset : listing.show === "role:" + row.dataset.role);
    row.hidden = !(fits && words.every((word) => name.includes(word)));
    if (row.hidden) row.querySelector("input[name=column]").checked = false;
  }
  const place = (row) => Number(row.querySelector("input[name=column]").value);
  const key = (row) => (listing.sort ? row.dataset[listing.sort] : "");
  rows.sort((a, b) => key(a).localeCompare(key(b)) || place(a) - place(b));
  body.append(...rows);
  document.getElementById("shown").textContent = rows.filter((row) => !row.hidden).length;
}

document.addEventListener("input", (event) => {
  if (event.target.id in listing) {
    listing[event.target.id] = event.target.value;
    list();
  }
});
document.addEventListener("change", (event) => {
  if (event.target.id !== "all") return;
  for (const row of document.querySelectorAll("table.plan tbody tr:not([hidden])")) {
    row.querySelector("input[name=column]").checked = event.target.checked;
  }
});
document.addEventListener("htmx:afterSettle", () => {
  for (const id of Object.keys(listing)) {
    const field = document.getElementById(id);
    if (field) field.value = listing[id];
  }
  list();
});

// Ticks that are not kept yet say so beside their button.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form.assumptions");
  if (!form || event.target.name !== "ticked") return;
  const boxes = [...form.querySelectorAll("input[name=ticked]")];
  const ticked = boxes.filter((box) => box.checked).length;
  form.querySelector(".kept").textContent =
    `${ticked} of ${boxes.length} ticked, not kept yet: press Keep the ticks`;
});

// What was refused on a page of its own form is shown where it stands.
document.addEventListener("DOMContentLoaded", () => document.querySelector("[data-focus]")?.focus());
