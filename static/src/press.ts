// Presses that an update of the page interrupts. Browsers send no click to a control that is
// replaced between press and release: by the mouse it goes to the parent, and Space does nothing.
// The same control of the new rendering gets the click. Touches need no help: their click goes to
// the element that is there at the end.

const controls = "button, a[href], summary, label, [role=tab], [role=menuitem], [role=option]";
let pressed: HTMLElement | undefined;
let description = "";
let clicked: Element | null = null;

const controlAt = (at: EventTarget | null): HTMLElement | null => (at instanceof Element ? at.closest<HTMLElement>(controls) : null);

/** describe returns what a control has in common with its next rendering. */
function describe(e: HTMLElement): string {
  const attributes = ["id", "name", "value", "href", "formaction", "aria-label"].map((name) => e.getAttribute(name));
  return [e.localName, ...attributes, e.closest("form")?.getAttribute("action"), e.textContent.trim()].join("\n");
}

function press(control: HTMLElement | null): void {
  pressed = control ?? undefined;
  if (control) description = describe(control);
}

/** release returns the new rendering of the pressed control among candidates, if the control was replaced and there is exactly one. */
function release(candidates: Iterable<HTMLElement>): HTMLElement | undefined {
  const was = pressed;
  pressed = undefined;
  if (!was || was.isConnected) return undefined;
  const same = [...candidates].filter((c) => describe(c) === description);
  return same.length === 1 ? same[0] : undefined;
}

document.addEventListener("pointerdown", (e) => press(e.pointerType !== "touch" && e.button === 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey ? controlAt(e.target) : null), true);
document.addEventListener("click", (e) => { clicked = controlAt(e.target); }, true);
document.addEventListener("pointerup", (e) => {
  const control = controlAt(document.elementFromPoint(e.clientX, e.clientY)), now = release(control ? [control] : []);
  if (!now) return;
  clicked = null;
  setTimeout(() => { if (clicked !== now) now.click(); }); // after the click that the browser sends
}, true);

document.addEventListener("keydown", (e) => { if (e.key === " " && !e.repeat) press(controlAt(e.target)?.closest<HTMLElement>("button, summary") ?? null); }, true);
document.addEventListener("keyup", (e) => {
  if (e.key !== " ") return;
  const now = release(document.querySelectorAll<HTMLElement>("button, summary"));
  now?.focus({ preventScroll: true });
  now?.click();
}, true);
