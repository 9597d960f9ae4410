// The first page of a list, of runs or of deliveries, keeps itself fresh while somebody sees it.
// Rows that are the same stay in place, so that focus and selection do; when the
// reader has scrolled, new rows wait behind a button instead of moving the page.
import htmx from "htmx.org/dist/htmx.esm.js";

const pause = 2000; // ms between two looks

async function fetchRows(address: string, mark: string): Promise<HTMLElement | undefined> {
  const answer = await fetch(`${address}&mark=${mark}`, { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
  if (answer.status !== 200) return undefined; // 204: nothing has changed
  const table = document.createElement("table");
  table.innerHTML = await answer.text();
  return table.tBodies[0];
}

/** Shows what became of the rows that are there. */
function update(rows: HTMLElement, fresh: HTMLElement): void {
  for (const row of fresh.querySelectorAll<HTMLElement>(":scope > tr")) {
    const old = document.getElementById(row.id);
    if (old && rows.contains(old) && old.dataset.mark !== row.dataset.mark) old.replaceWith(row.cloneNode(true));
  }
}

/** Shows the fresh rows and no others. */
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

async function look(): Promise<void> {
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

function again(): void {
  window.setTimeout(() => void look().finally(again), pause);
}

if (document.getElementById("runs") || ["/runs", "/deliveries"].includes(location.pathname)) again();
