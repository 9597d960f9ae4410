// Polls the first page of a list of runs or deliveries while it is visible.
// Unchanged rows stay in place, and so do focus and selection. When the reader
// has scrolled, new rows are announced by a button instead of moving the page.
import htmx from "htmx.org/dist/htmx.esm.js";
import { fetchPart } from "./builder/requests.ts";

const pause = 2000; // ms between two requests

async function fetchRows(address: string, mark: string): Promise<HTMLElement | undefined> {
  const answer = await fetchPart(`${address}&mark=${mark}`);
  if (answer?.status !== 200) return undefined; // 204: unchanged
  const table = document.createElement("table");
  table.innerHTML = await answer.text();
  return table.tBodies[0];
}

/** update replaces rows on the page that changed. */
function update(rows: HTMLElement, fresh: HTMLElement): void {
  for (const row of fresh.querySelectorAll<HTMLElement>(":scope > tr")) {
    const old = document.getElementById(row.id);
    if (old && rows.contains(old) && old.dataset.mark !== row.dataset.mark) old.replaceWith(row.cloneNode(true));
  }
}

/** putAll shows exactly the fresh rows. */
function putAll(rows: HTMLElement, fresh: HTMLElement): void {
  const kept = [...fresh.querySelectorAll<HTMLElement>(":scope > tr")].map((row) => {
    const old = document.getElementById(row.id);
    return old && old.dataset.mark === row.dataset.mark ? old : row;
  });
  for (const row of [...rows.children]) if (!kept.includes(row as HTMLElement)) row.remove();
  kept.forEach((row, at) => { if (rows.children[at] !== row) rows.insertBefore(row, rows.children[at] ?? null); });
  rows.dataset.mark = fresh.dataset.mark;
  htmx.process(rows);
  document.dispatchEvent(new Event("htmx:after:swap"));
}

function announce(list: HTMLElement, count: number, fresh: HTMLElement): void {
  const button = list.querySelector<HTMLButtonElement>(".newer-runs");
  if (!button) return;
  button.hidden = count === 0;
  button.textContent = `${count} new ${count === 1 ? list.dataset.one ?? "run" : list.dataset.many ?? "runs"}`;
  button.onclick = () => {
    button.hidden = true;
    const rows = document.getElementById("run-rows");
    if (rows) putAll(rows, fresh);
    window.scrollTo({ top: 0 });
  };
}

async function poll(): Promise<void> {
  const list = document.getElementById("runs");
  const rows = document.getElementById("run-rows");
  const address = list?.dataset.live;
  if (!list || !rows || !address || document.hidden) return;
  const fresh = await fetchRows(address, rows.dataset.mark ?? "").catch(() => undefined);
  if (!fresh || !rows.isConnected) return;
  const scrolled = list.getBoundingClientRect().top < 0;
  if (!scrolled) {
    announce(list, 0, fresh);
    putAll(rows, fresh);
    return;
  }
  const count = [...fresh.children].filter((row) => !document.getElementById(row.id)).length;
  update(rows, fresh);
  announce(list, count, fresh);
}

function pollAgain(): void {
  window.setTimeout(() => void poll().finally(pollAgain), pause);
}

pollAgain();
