// A strip has a cell for each item of a map; a click selects the item. The table below
// the strip offers the same without a script and with the keyboard.
import htmx from "htmx.org/dist/htmx.esm.js";

/** itemAt returns the cell under an event, the number of its item, and its strip. */
function itemAt(e: Event): { cell: HTMLElement; strip: HTMLElement; item: number } | undefined {
  const cell = e.target instanceof HTMLElement && e.target.matches("[data-strip] > i") ? e.target : undefined;
  const strip = cell?.parentElement;
  if (!cell || !strip) return undefined;
  return { cell, strip, item: Number(cell.dataset.item ?? [...strip.children].indexOf(cell)) };
}

document.addEventListener("click", (e) => {
  const at = itemAt(e);
  if (!at) return;
  const address = new URL(at.strip.dataset.strip!, location.href);
  address.searchParams.set("step", `${address.searchParams.get("step")}[${at.item}]`);
  const to = address.pathname + address.search;
  void htmx.ajax("GET", to, { target: "#run", select: "#run", swap: "outerMorph" });
  history.replaceState(history.state, "", to);
});

document.addEventListener("mouseover", (e) => {
  const at = itemAt(e);
  if (at && !at.cell.title) at.cell.title = `Item ${at.item}`;
});
