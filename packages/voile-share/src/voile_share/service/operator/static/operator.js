// What changes by itself is fetched again now and then, unless somebody works in it; what cannot be
// taken back is asked for.
"use strict";

function refresh(live) {
  const seconds = Number(live.dataset.refresh);
  setInterval(async () => {
    const active = document.activeElement;
    if (document.hidden || (active !== document.body && live.contains(active))) return;
    const answer = await fetch(location.href, { redirect: "error" }).catch(() => null);
    if (!answer || !answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    const before = document.getElementById("live");
    if (fresh && before) before.replaceChildren(...fresh.childNodes);
  }, seconds * 1000);
}

const live = document.getElementById("live");
if (live) refresh(live);
for (const form of document.querySelectorAll("form[data-sure]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.sure)) event.preventDefault();
  });
}
