// The palette as a rail of groups: a group's list opens beside its button, and the whole
// list opens with the search (palette.css has the width of the window below which it is one).
const palette = document.getElementById("palette");
const narrow = matchMedia("(min-width: 801px) and (max-width: 1679px)");
const grace = 200; // ms that a list stays open without the pointer, which has to cross the gap from the button

const groups = (): HTMLElement[] => [...palette!.querySelectorAll<HTMLElement>("[data-palette-group]")];
const tile = (group: Element): HTMLElement => group.querySelector<HTMLElement>(".rail-group")!;
let leaving: ReturnType<typeof setTimeout> | undefined;

/** closeRail closes the open list. */
export function closeRail(): void {
  clearTimeout(leaving);
  if (palette) delete palette.dataset.open;
  for (const g of palette ? groups() : []) {
    g.removeAttribute("data-open");
    tile(g).setAttribute("aria-expanded", "false");
  }
}

/** open shows the list of a group beside its button, within the window. */
function open(group: HTMLElement): void {
  closeRail();
  group.dataset.open = "";
  tile(group).setAttribute("aria-expanded", "true");
  const list = group.querySelector("ul")!, edge = 8; // pixels
  list.style.top = `${Math.max(edge, Math.min(tile(group).getBoundingClientRect().top, innerHeight - list.offsetHeight - edge))}px`;
}

if (palette) {
  const search = palette.querySelector("input")!;
  search.addEventListener("focus", () => { if (narrow.matches) { closeRail(); palette.dataset.open = ""; } });
  for (const g of groups()) {
    tile(g).addEventListener("click", (e) => {
      open(g);
      if (e.detail === 0) g.querySelector<HTMLElement>(".kind")!.focus(); // by keyboard
    });
    g.addEventListener("pointerenter", (e) => { if (narrow.matches && e.pointerType === "mouse" && !e.buttons && palette.dataset.open === undefined) open(g); });
    g.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse" && palette.dataset.open === undefined) { clearTimeout(leaving); leaving = setTimeout(closeRail, grace); } });
    g.querySelector("ul")!.addEventListener("pointerenter", () => clearTimeout(leaving));
  }
  addEventListener("pointerdown", (e) => { if (!(e.target as Element).closest("#palette")) closeRail(); });
  palette.addEventListener("focusout", (e) => { if (e.relatedTarget && !palette.contains(e.relatedTarget as Node)) closeRail(); });
  palette.addEventListener("keydown", (e) => {
    const group = (e.target as Element).closest("[data-palette-group]");
    if (e.key !== "Escape" && !(e.key === "ArrowLeft" && group)) return;
    if (e.key === "Escape" && search.value) return; // the search is cleared first
    const whole = palette.dataset.open !== undefined;
    closeRail();
    if (group && !whole) tile(group).focus();
    else (document.activeElement as HTMLElement).blur();
  });
}
