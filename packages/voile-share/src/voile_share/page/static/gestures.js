/** Fingers, mouse, wheel and keys that move the map. */

const STEP = 80;
const FACTOR = 1.5;

/** Let a surface move a camera; `taken` is called when somebody does. */
export function listen(surface, camera, taken, home) {
  const fingers = new Map();
  const at = ({ clientX, clientY }) => {
    const { left, top } = surface.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };

  surface.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    surface.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
  });
  surface.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()];
    fingers.set(event.pointerId, at(event));
    moveBy(camera, before, [...fingers.values()]);
    taken();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    surface.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
  surface.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    camera.zoom(Math.exp(-Math.max(-120, Math.min(120, pixels)) / 300), at(event));
    taken();
  }, { passive: false });
  surface.addEventListener("dblclick", (event) => {
    camera.zoom(2, at(event));
    taken();
  });
  surface.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [right, down] = {
      ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP],
    }[event.key] ?? [0, 0];
    if (right || down) camera.pan(right, down);
    else if (event.key === "+" || event.key === "=") camera.zoom(FACTOR);
    else if (event.key === "-") camera.zoom(1 / FACTOR);
    else if (event.key === "0" || event.key === "Home") return home();
    else return;
    event.preventDefault();
    taken();
  });
}

/** One finger moves; two also zoom, by how far they are apart. */
function moveBy(camera, before, after) {
  const middle = (points) => [0, 1].map((side) =>
    points.reduce((sum, point) => sum + point[side], 0) / points.length);
  const [from, to] = [middle(before), middle(after)];
  camera.pan(to[0] - from[0], to[1] - from[1]);
  if (after.length !== 2) return;
  const apart = ([one, other]) => Math.hypot(one[0] - other[0], one[1] - other[1]);
  if (apart(before) > 0 && apart(after) > 0) camera.zoom(apart(after) / apart(before), to);
}
