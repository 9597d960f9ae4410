// Turns input into edits of the draft. They are made through the canvas, so that
// undo, autosave and offline editing work.
import { mergeText } from "../canvas/merge.ts";
import type { FlowNode } from "../canvas/model.ts";
import type { Member, Op } from "../canvas/ops.ts";
import { icon } from "../icon.ts";
import { listen } from "../listen.ts";
import { canvas } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { same } from "./parse.ts";
import { keep, restore } from "./unread.ts";
import { read, write } from "./values.ts";

/** pane contains the inspector; section is the form of the node that is shown. */
export const pane = document.getElementById("inspector")!;
export const section = (): HTMLElement | null => pane.querySelector<HTMLElement>(".ins[data-node]");
export const fieldOf = (e: Element): HTMLElement | null => e.closest<HTMLElement>("[data-set], [data-put]");

const typingPause = 300; // ms to debounce typing
const waiting = new Map<HTMLElement, number>();
const bases = new WeakMap<HTMLElement, unknown>(); // the values in the draft when typing began

/** inDraft returns the value of a field in the draft. */
function inDraft(field: HTMLElement): unknown {
  const { set, put } = field.dataset, draft = canvas.draft.nodes.get(field.closest<HTMLElement>("[data-node]")?.dataset.node ?? "");
  return set ? draft?.config[set] : draft?.[put as Member];
}

/** later sends a field, debounced. A field that may hold a secret is sent when it loses the focus, so that no partial secret is stored. */
export function later(field: HTMLElement): void {
  clearTimeout(waiting.get(field));
  if (!waiting.has(field)) bases.set(field, inDraft(field));
  waiting.set(field, mayHoldSecret(field) ? 0 : window.setTimeout(() => send(field), typingPause));
}

// Matches all names of secrets and more; the server has the exact rule (flow/secret_names.go).
const secretName = /auth|token|key|secret|pass|pwd|psw|sig|cred|cookie|session|bearer|jwt|otp|hmac|sid|:\/\/[^/?#]*@/i;

function mayHoldSecret(field: HTMLElement): boolean {
  if (!field.hasAttribute("data-secrets")) return false;
  return [...field.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input:not([type=hidden]), textarea")].some((c) => secretName.test(c.value));
}

/** settle sends all fields now. */
export function settle(): void { for (const field of [...waiting.keys()]) send(field); }

/** settleTyped sends all fields now, except those that may contain a partial secret. */
export function settleTyped(): void { for (const [field, timer] of [...waiting]) if (timer) send(field); }

/** isWaiting reports whether a field was typed in and not sent yet. */
export const isWaiting = (field: HTMLElement): boolean => waiting.has(field);

/** unsent reports whether a field has input that is not in the draft. */
export const unsent = (field: HTMLElement): boolean => waiting.has(field) || field.hasAttribute("data-unread");

/** opsOf returns the operations that write a field to the draft: none when it is unchanged, undefined when it is invalid. */
export function opsOf(field: HTMLElement): Op[] | undefined {
  const node = field.closest<HTMLElement>("[data-node]")!.dataset.node!, r = read(field);
  mark(field, r.error);
  keep(field, r.error);
  if (r.error) return undefined;
  const { set, put } = field.dataset, draft = canvas.draft.nodes.get(node), now = inDraft(field);
  if (!draft) return [];
  const more = alongside.flatMap((f) => f(field, draft, r.value));
  if (same(now, r.value) || untouched(field, now, r.value)) return more;
  const op = set ? { op: "set", node, field: set } : { op: "put", node, member: put };
  return [(r.value === undefined ? op : { ...op, value: r.value }) as Op, ...more];
}

/** alongside are functions that return what else changes with the value of a field, in the same step. */
export const alongside: ((field: HTMLElement, node: FlowNode, value: unknown) => Op[])[] = [];

/** untouched reports whether a control shows the default because nothing is set. */
function untouched(field: HTMLElement, now: unknown, value: unknown): boolean {
  return (now === undefined || now === "" || now === false) && (value === undefined || value === field.dataset.usual);
}

/** send commits the value of a field if it changed. Typing in one field is one step of the history. */
export function send(field: HTMLElement): void {
  clearTimeout(waiting.get(field));
  waiting.delete(field);
  const ops = field.isConnected ? opsOf(field) : undefined;
  if (ops?.length) canvas.commit(`Change ${titleOf(field)}`, ops, { key: `${field.closest<HTMLElement>("[data-node]")!.dataset.node} ${field.dataset.key}` });
}

/** commitWith commits a field together with other edits, as one step of the history. */
export function commitWith(field: HTMLElement, label: string, more: Op[]): void {
  clearTimeout(waiting.get(field));
  waiting.delete(field);
  const ops = opsOf(field);
  if (ops) canvas.commit(label, [...ops, ...more]);
}

/** titleOf returns the label of a field, for the names of undo steps. */
export function titleOf(field: HTMLElement): string { return field.querySelector("label, .label")?.textContent?.trim().toLowerCase() ?? "node"; }

/** mark shows why a field is invalid, or removes the error. */
function mark(field: HTMLElement, error: string | undefined): void {
  const old = field.querySelector(":scope > .ins-unread"), c = field.querySelector("input:not([type=hidden], [type=range], [data-required]), textarea, select");
  field.toggleAttribute("data-unread", !!error);
  if (error && old?.textContent === error) return;
  old?.remove();
  if (!error) { if (old) c?.removeAttribute("aria-invalid"); return; }
  c?.setAttribute("aria-invalid", "true");
  field.querySelector(":scope > [data-slot=messages]")?.before(el("p", { class: "error ins-unread", role: "status" }, icon("circle-alert"), el("span", {}, error)));
}

/** remind restores the texts that could not be parsed when the node was last shown. */
export function remind(section: HTMLElement): void { for (const [field, error] of restore(section)) mark(field, error); }

/** shown writes a value that changed elsewhere, such as by undo, into its field. */
export function shown(node: string, key: string, value: unknown): void {
  const at = section();
  if (at?.dataset.node !== node) return;
  const field = at.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (!field || same(read(field).value, value) || waiting.has(field)) return;
  if (write(field, value)) { mark(field, undefined); keep(field, undefined); field.dispatchEvent(new Event("ins:wrote", { bubbles: true })); }
}

/** showRemote writes what others changed into the fields. A text that is being typed is merged with theirs, or the user chooses. */
function showRemote(): void {
  for (const field of section()?.querySelectorAll<HTMLElement>("[data-set], [data-put]") ?? []) {
    const theirs = inDraft(field);
    if (!waiting.has(field)) { shown(section()!.dataset.node!, field.dataset.key!, theirs); continue; }
    const base = bases.get(field), mine = read(field);
    if (same(base, theirs) || mine.error || same(mine.value, theirs)) continue;
    bases.set(field, theirs);
    const merged = [base, mine.value, theirs].every((v) => v === undefined || typeof v === "string") ? mergeText((base ?? "") as string, (mine.value ?? "") as string, (theirs ?? "") as string) : undefined;
    if (merged === undefined) showClash(field, theirs);
    else if (write(field, merged)) field.dispatchEvent(new Event("ins:wrote", { bubbles: true }));
  }
}

/** showClash offers to take a value that another tab saved while another was typed here. */
function showClash(field: HTMLElement, theirs: unknown): void {
  field.querySelector(":scope > .ins-clash")?.remove();
  const keepMine = el("button", { type: "button", class: "btn small" }, "Keep yours"), take = el("button", { type: "button", class: "btn small" }, "Take theirs");
  const note = el("div", { class: "ins-clash", role: "status" }, el("span", {}, "Changed in another tab."), keepMine, take);
  keepMine.addEventListener("click", () => { note.remove(); send(field); });
  take.addEventListener("click", () => { note.remove(); if (write(field, theirs)) field.dispatchEvent(new Event("ins:wrote", { bubbles: true })); send(field); });
  field.querySelector(":scope > [data-slot=messages]")?.before(note);
}

listen(canvas, "canvas:remote", showRemote);
listen<{ node: string; field: string; value: unknown }>(canvas, "canvas:clash", ({ node, field, value }) => {
  const at = section()?.dataset.node === node ? section()!.querySelector<HTMLElement>(`[data-set="${CSS.escape(field)}"]`) : null;
  if (at) showClash(at, value);
});

const lasting = "[data-models=hosted]"; // fields that are sent only when complete

pane.addEventListener("input", (e) => {
  const t = e.target as HTMLElement, field = fieldOf(t);
  if (!field || t.closest(lasting) || t.matches("[type=file], [type=password], [data-required]")) return;
  if (t.matches("[type=range]")) slide(t as HTMLInputElement);
  later(field);
});
pane.addEventListener("change", (e) => {
  const t = e.target as HTMLElement, field = fieldOf(t);
  if (field && !t.closest(lasting) && !t.matches("[type=file], [type=password], [data-required]")) send(field);
});
pane.addEventListener("focusout", (e) => {
  const field = fieldOf(e.target as Element);
  if (!field || field.contains(e.relatedTarget as Node)) return;
  if (waiting.has(field)) send(field);
  canvas.history?.seal();
});
addEventListener("pagehide", settle, { capture: true }); // before the canvas sends its queue

/** slide copies the value of a slider to the number field beside it. */
function slide(range: HTMLInputElement): void {
  const c = document.getElementById(range.dataset.slides!) as HTMLInputElement;
  c.value = range.value;
}
pane.addEventListener("input", (e) => {
  const range = (e.target as Element).closest(".ins-number")?.querySelector<HTMLInputElement>("[type=range]");
  if (range && range !== e.target) range.value = (e.target as HTMLInputElement).value;
});
