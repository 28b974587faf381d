"use strict";
// Copy buttons, messages about requests that were refused, and the line of an error in the plan.

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
});
document.addEventListener("htmx:sendError", () => {
  document.getElementById("toast").textContent = "Studio does not answer: was it ended in the terminal?";
});
document.addEventListener("htmx:beforeRequest", () => {
  document.getElementById("toast").textContent = "";
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
