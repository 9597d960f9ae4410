// Following a pointer from its press to its release.

/**
 * track calls move for each movement of a pressed pointer, and end when it is
 * released. The element captures the pointer, so that movements outside of it
 * and of the window arrive too. pointercancel ends the gesture as well: touch
 * screens send it instead of pointerup when the browser takes the touch over,
 * for example to scroll.
 */
export function track(el: HTMLElement, press: PointerEvent, move: (e: PointerEvent) => void, end?: () => void): void {
  const held = new AbortController();
  el.setPointerCapture(press.pointerId);
  el.addEventListener("pointermove", move, held);
  for (const name of ["pointerup", "pointercancel"]) el.addEventListener(name, () => { held.abort(); end?.(); }, held);
}
