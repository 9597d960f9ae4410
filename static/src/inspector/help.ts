// The help of a field shows while the field has the focus, and the question mark shows
// it for all fields. Help that appears or disappears moves the fields below, so it waits
// for the end of a click: otherwise the click would miss what it was aimed at.
import { pane } from "./fields.ts";

let held = false; // a mouse button or a finger is down

function update(): void {
  if (held) return;
  const now = document.activeElement?.closest(".field, .check") ?? null;
  for (const f of pane.querySelectorAll("[data-helped]")) if (f !== now && !f.contains(now)) f.removeAttribute("data-helped");
  if (now && pane.contains(now)) now.toggleAttribute("data-helped", true);
}

addEventListener("pointerdown", () => { held = true; }, { capture: true });
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => setTimeout(() => { held = false; update(); }), { capture: true });
pane.addEventListener("focusin", update);
pane.addEventListener("focusout", () => setTimeout(update));
