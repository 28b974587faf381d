/**
 * Keeps the page, its scripts and the road map, so that they open offline.
 *
 * Python (voile_share.page) writes the version and the files into the two lines below: another
 * version is another file, so browsers install it, take all its files anew and drop the old ones.
 * The page comes from here first.  The map does too, and is looked for anew behind.  Nothing else
 * passes through, the feed least of all.
 */

const VERSION = "development";
const FILES = ["/t"];

const MAP = "/map/roads.json";
const PAGE_CACHE = `voile-page-${VERSION}`;
const MAP_CACHE = "voile-map";

async function install() {
  const cache = await caches.open(PAGE_CACHE);
  await cache.addAll(FILES.map((path) => new Request(path, { cache: "reload" })));
  // A service may have no map.
  await renewMap().catch(() => {});
  await self.skipWaiting();
}

async function activate() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith("voile-page-") && name !== PAGE_CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function renewMap() {
  const answer = await fetch(MAP, { credentials: "omit", cache: "no-cache" });
  const cache = await caches.open(MAP_CACHE);
  if (answer.ok) await cache.put(MAP, answer.clone());
  if (answer.status === 404) await cache.delete(MAP);
  return answer;
}

async function page(path, request) {
  const cache = await caches.open(PAGE_CACHE);
  return (await cache.match(path)) ?? fetch(request);
}

async function map(event) {
  const cache = await caches.open(MAP_CACHE);
  const kept = await cache.match(MAP);
  const renewed = renewMap();
  if (!kept) return renewed;
  event.waitUntil(renewed.catch(() => {}));
  return kept;
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== self.location.origin) return;
  if (pathname === MAP) event.respondWith(map(event));
  else if (FILES.includes(pathname)) event.respondWith(page(pathname, event.request));
});
