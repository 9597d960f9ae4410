// The grid of cases: cells are edited, copied and pasted as in a spreadsheet. The server reads the table after
// each change and says what is wrong in which cell; nothing is stored before people save.
import { plainCell, readTable, safeCell, writeTable } from "./tsv.ts";

interface Answer { rows: number; fresh: number; changed: number; message: string; to: string; errors: { row: number; column: number; label: string; text: string }[] | null }

const spare = 3; // empty rows at the end
const table = document.querySelector<HTMLTableElement>("#case-grid")!;
const form = table.closest("form")!;
const area = form.querySelector<HTMLTextAreaElement>("#grid-table")!;
const status = document.getElementById("grid-status")!;
const list = document.getElementById("grid-errors")!;
const undoButton = document.querySelector<HTMLButtonElement>("#grid-undo")!;
const redoButton = document.querySelector<HTMLButtonElement>("#grid-redo")!;
const body = table.tBodies[0]!;
const heads = [...table.tHead!.rows[0]!.cells].slice(1);
const width = heads.length, most = Number(table.dataset.most);
const header = ["id", ...heads.map((h) => h.dataset.name!)];

// One row for each case: its ID, then its cells.
let rows: string[][] = [...body.rows].map((tr) => [tr.dataset.id!, ...[...tr.cells].slice(1).map((td) => td.textContent)]);
const past: string[][][] = [], future: string[][][] = [];
let saved = text();
let at = { row: 0, column: 0 }, anchor = at;
let editor: HTMLTextAreaElement | undefined;

function blank(): string[] {
  return Array<string>(width + 1).fill("");
}

// Returns the rows to save, without the empty ones at the end.
function filled(): string[][] {
  let end = rows.length;
  while (end && rows[end - 1]!.every((cell) => !cell.trim())) end--;
  return rows.slice(0, end);
}

function text(): string {
  return writeTable([header, ...filled()]);
}

function cell(row: number, column: number): HTMLTableCellElement {
  return body.rows[row]!.cells[column + 1]!;
}

// Draws what differs from the page.
function draw(): void {
  const wanted = Math.min(most, filled().length + spare);
  while (rows.length < wanted) rows.push(blank());
  rows.length = Math.max(wanted, filled().length);
  while (body.rows.length > rows.length) body.deleteRow(-1);
  for (const [i, values] of rows.entries()) {
    let tr = body.rows[i];
    if (!tr) {
      tr = body.insertRow();
      const th = document.createElement("th");
      th.scope = "row";
      th.className = "grid-number";
      th.textContent = String(i + 1);
      tr.append(th);
      for (let k = 0; k < width; k++) tr.insertCell().dir = "auto";
    }
    tr.dataset.id = values[0]!;
    for (let k = 0; k < width; k++) {
      const td = tr.cells[k + 1]!;
      if (td.textContent !== values[k + 1]) td.textContent = values[k + 1]!;
      if (td.tabIndex !== -1 || !td.hasAttribute("tabindex")) td.tabIndex = -1;
      td.setAttribute("role", "gridcell");
    }
  }
  at = { row: Math.min(at.row, rows.length - 1), column: at.column };
  undoButton.hidden = redoButton.hidden = false;
  undoButton.disabled = !past.length;
  redoButton.disabled = !future.length;
  select(at, false, false);
}

function range(): { top: number; bottom: number; left: number; right: number } {
  return { top: Math.min(at.row, anchor.row), bottom: Math.max(at.row, anchor.row), left: Math.min(at.column, anchor.column), right: Math.max(at.column, anchor.column) };
}

// Moves to a cell. With extend, the cells between it and the anchor are chosen.
function select(to: { row: number; column: number }, extend: boolean, focus = true): void {
  for (const td of body.querySelectorAll<HTMLElement>('[aria-selected="true"], [tabindex="0"]')) {
    td.removeAttribute("aria-selected");
    td.tabIndex = -1;
  }
  at = { row: Math.max(0, Math.min(rows.length - 1, to.row)), column: Math.max(0, Math.min(width - 1, to.column)) };
  if (!extend || anchor.row >= rows.length) anchor = at;
  const r = range();
  for (let i = r.top; i <= r.bottom; i++) for (let k = r.left; k <= r.right; k++) cell(i, k).setAttribute("aria-selected", "true");
  const td = cell(at.row, at.column);
  td.tabIndex = 0;
  if (!focus) return;
  td.focus();
  if (td.title) say(td.title);
}

function say(words: string): void {
  status.textContent = words;
}

// Applies a change that can be undone.
function change(act: () => void): void {
  const before = rows.map((row) => [...row]);
  act();
  past.push(before);
  future.length = 0;
  draw();
  later();
}

function step(from: string[][][], to: string[][][]): void {
  const next = from.pop();
  if (!next) return;
  to.push(rows);
  rows = next;
  draw();
  later();
}

// edit opens the chosen cell; replace is what was typed.
function edit(replace?: string): void {
  const td = cell(at.row, at.column);
  editor = document.createElement("textarea");
  editor.setAttribute("aria-label", `${heads[at.column]!.dataset.label}, row ${at.row + 1}`);
  editor.dir = "auto";
  editor.rows = 1;
  editor.value = replace ?? rows[at.row]![at.column + 1]!;
  td.replaceChildren(editor);
  editor.focus();
  editor.setSelectionRange(editor.value.length, editor.value.length);
  editor.addEventListener("blur", () => finish(true, 0, 0, false));
}

// Ends the editing, and moves.
function finish(keep: boolean, down: number, right: number, focus = true): void {
  const open = editor;
  if (!open) return;
  editor = undefined;
  const { row, column } = at, value = open.value;
  cell(row, column).textContent = rows[row]![column + 1]!;
  if (keep && value !== rows[row]![column + 1]) change(() => { rows[row]![column + 1] = value; });
  if (focus) select({ row: row + down, column: column + right }, false);
}

function clear(): void {
  const r = range();
  change(() => { for (let i = r.top; i <= r.bottom; i++) rows[i]!.fill("", r.left + 1, r.right + 2); });
}

// Pastes rows at the chosen cell. What does not fit is refused, so that nothing is lost.
function paste(clip: string): void {
  let table = readTable(clip).map((row) => row.map(plainCell));
  const labels = heads.map((h) => h.dataset.label!.trim().toLowerCase()), names = header.slice(1);
  const first = table[0]?.map((c) => c.trim().toLowerCase()) ?? [];
  let columns: number[] | undefined;
  if (table.length > 1 && first.filter(Boolean).length > 1 && first.every((c) => !c || c === "id" || labels.includes(c) || names.includes(c))) {
    columns = first.map((c) => (names.includes(c) ? names.indexOf(c) : labels.indexOf(c)));
    table = table.slice(1);
  }
  const r = range();
  if (table.length === 1 && table[0]!.length === 1) {
    const value = table[0]![0]!;
    change(() => { for (let i = r.top; i <= r.bottom; i++) rows[i]!.fill(value, r.left + 1, r.right + 2); });
    return;
  }
  const widest = Math.max(0, ...table.map((row) => row.length)), room = width - r.left;
  if (!columns && widest > room) return say(`Nothing was pasted: the rows have ${widest} cells, and there is room for ${room}. Choose a cell further left, or copy fewer columns.`);
  if (r.top + table.length > most) return say(`Nothing was pasted: a flow has at most ${most} cases.`);
  change(() => {
    for (const [i, values] of table.entries()) {
      const row = (rows[r.top + i] ??= blank());
      for (const [k, value] of values.entries()) {
        const column = columns ? columns[k]! : r.left + k;
        if (column >= 0) row[column + 1] = value;
      }
    }
  });
  anchor = { row: r.top, column: columns ? 0 : r.left };
  select({ row: r.top + table.length - 1, column: columns ? width - 1 : r.left + widest - 1 }, true);
}

let timer = 0, pending: AbortController | undefined;

function later(): void {
  area.value = text();
  say(area.value === saved ? "" : "Checking…");
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void send("check").then(show).catch(() => say("Can’t reach Sluice. Your changes are kept here.")), 250);
}

async function send(act: string): Promise<Answer> {
  pending?.abort();
  pending = new AbortController();
  area.value = text();
  const data = new URLSearchParams([...new FormData(form)] as [string, string][]);
  data.set("act", act);
  const answer = await fetch(form.action, { method: "POST", body: data, signal: pending.signal, headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(answer.statusText);
  return (await answer.json()) as Answer;
}

// Shows what is wrong, and what saving would do.
function show(a: Answer): void {
  const errors = a.errors ?? [];
  for (const td of body.querySelectorAll("[aria-invalid]")) {
    td.removeAttribute("aria-invalid");
    td.removeAttribute("title");
  }
  list.replaceChildren();
  list.hidden = !errors.length;
  for (const e of errors) {
    if (e.row < rows.length) {
      const td = cell(e.row, e.column);
      td.setAttribute("aria-invalid", "true");
      td.title = e.text;
    }
    const link = document.createElement("button");
    link.type = "button";
    link.className = "link";
    link.textContent = `Row ${e.row + 1}, ${e.label}: ${e.text}`;
    link.addEventListener("click", () => select({ row: e.row, column: e.column }, false));
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
  if (a.message) say(a.message);
  else if (errors.length) say(`${errors.length} ${errors.length === 1 ? "cell needs" : "cells need"} a fix.`);
  else say(a.fresh + a.changed ? `${a.fresh} new, ${a.changed} changed. Not saved yet.` : "No changes.");
}

table.setAttribute("role", "grid");
table.addEventListener("keydown", (event) => {
  const key = event.key, command = event.ctrlKey || event.metaKey;
  if (editor) {
    if (key === "Escape") finish(false, 0, 0);
    else if (key === "Enter" && !event.altKey && !event.shiftKey && !event.isComposing) finish(true, 1, 0);
    else if (key === "Enter" && event.altKey) editor.setRangeText("\n", editor.selectionStart, editor.selectionEnd, "end");
    else if (key === "Tab") finish(true, 0, event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
    return;
  }
  const rtl = getComputedStyle(table).direction === "rtl" ? -1 : 1;
  const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -rtl], ArrowRight: [0, rtl], PageUp: [-10, 0], PageDown: [10, 0], Home: [command ? -most : 0, -width], End: [command ? most : 0, width] };
  const move = moves[key];
  if (move) select({ row: at.row + move[0], column: at.column + move[1] }, event.shiftKey);
  else if (command && key.toLowerCase() === "z") event.shiftKey ? step(future, past) : step(past, future);
  else if (command && key.toLowerCase() === "y") step(future, past);
  else if (command && key.toLowerCase() === "a") {
    anchor = { row: 0, column: 0 };
    select({ row: Math.max(0, filled().length - 1), column: width - 1 }, true);
  } else if (command || event.altKey) return;
  else if (key === "Enter" || key === "F2") edit();
  else if (key === "Delete" || key === "Backspace") clear();
  else if ([...key].length === 1) edit(key);
  else return;
  event.preventDefault();
  event.stopPropagation();
});

function place(target: EventTarget | null): { row: number; column: number } | undefined {
  const td = (target as Element).closest<HTMLTableCellElement>("td");
  return td ? { row: (td.parentElement as HTMLTableRowElement).sectionRowIndex, column: td.cellIndex - 1 } : undefined;
}
table.addEventListener("mousedown", (event) => {
  const to = place(event.target);
  if (!to || event.target === editor) return;
  event.preventDefault();
  finish(true, 0, 0, false);
  select(to, event.shiftKey);
});
table.addEventListener("focusin", (event) => {
  const to = place(event.target);
  if (to && !editor && (to.row !== at.row || to.column !== at.column)) select(to, false, false);
});
table.addEventListener("dblclick", () => { if (!editor) edit(); });
table.addEventListener("copy", (event) => {
  if (editor) return;
  const r = range();
  event.clipboardData!.setData("text/plain", writeTable(rows.slice(r.top, r.bottom + 1).map((row) => row.slice(r.left + 1, r.right + 2).map(safeCell))));
  event.preventDefault();
});
table.addEventListener("paste", (event) => {
  if (editor) return;
  event.preventDefault();
  paste(event.clipboardData!.getData("text/plain"));
});
undoButton.addEventListener("click", () => step(past, future));
redoButton.addEventListener("click", () => step(future, past));
area.addEventListener("change", () => {
  const [first, ...rest] = readTable(area.value);
  if (first?.join() !== header.join()) return say(`Nothing was taken over: the first row must be ${header.join(", ")}.`);
  change(() => { rows = rest.map((row) => [...row, ...blank()].slice(0, width + 1)); });
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  finish(true, 0, 0, false);
  window.clearTimeout(timer);
  void send("save").then((a) => {
    if (!a.to) return show(a);
    saved = text();
    location.assign(a.to);
  }).catch(() => say("Can’t reach Sluice. Your changes are kept here."));
});
window.addEventListener("beforeunload", (event) => { if (text() !== saved) event.preventDefault(); });
draw();
