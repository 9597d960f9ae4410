// Turns what is typed into edits of the draft. They go through the canvas, so
// that undo, autosave and the queue of a lost network hold for them.
import type { Member, Op } from "../canvas/ops.ts";
import { icon } from "../icon.ts";
import { canvas } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { same } from "./parse.ts";
import { read, write } from "./values.ts";

/** pane is where the inspector lies; section is the node that is shown. */
export const pane = document.getElementById("inspector")!;
export const section = (): HTMLElement | null => pane.querySelector<HTMLElement>(".ins[data-node]");
export const fieldOf = (e: Element): HTMLElement | null => e.closest<HTMLElement>("[data-set], [data-put]");

const typingPause = 300; // ms of rest after which what was typed is sent
const waiting = new Map<HTMLElement, number>();

/** later sends a field once nobody types in it. What may become a secret waits until the field is left, so that no half of it is kept. */
export function later(field: HTMLElement): void {
  clearTimeout(waiting.get(field));
  waiting.set(field, mayHoldSecret(field) ? 0 : window.setTimeout(() => send(field), typingPause));
}

// Names of secrets, and more than that: the server has the rule (flow/secret_names.go).
const secretName = /auth|token|key|secret|pass|pwd|psw|sig|cred|cookie|session|bearer|jwt|otp|hmac|sid|:\/\/[^/?#]*@/i;

function mayHoldSecret(field: HTMLElement): boolean {
  if (!field.hasAttribute("data-secrets")) return false;
  return [...field.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input:not([type=hidden]), textarea")].some((c) => secretName.test(c.value));
}

/** settle sends all that was typed. */
export function settle(): void { for (const field of [...waiting.keys()]) send(field); }

/** unsent tells whether a field has something that the draft has not. */
export const unsent = (field: HTMLElement): boolean => waiting.has(field) || field.hasAttribute("data-unread");

/** opsOf are the edits that make the draft say what the field says; none when it does, nothing when the field cannot be read. */
export function opsOf(field: HTMLElement): Op[] | undefined {
  const node = field.closest<HTMLElement>("[data-node]")!.dataset.node!, r = read(field);
  mark(field, r.error);
  if (r.error) return undefined;
  const { set, put } = field.dataset, draft = canvas.draft.nodes.get(node);
  const now = set ? draft?.config[set] : draft?.[put as Member];
  if (!draft || same(now, r.value) || untouched(field, now, r.value)) return [];
  const op = set ? { op: "set", node, field: set } : { op: "put", node, member: put };
  return [(r.value === undefined ? op : { ...op, value: r.value }) as Op];
}

/** untouched: a control that shows the usual value because nothing is set. */
function untouched(field: HTMLElement, now: unknown, value: unknown): boolean {
  return (now === undefined || now === "" || now === false) && (value === undefined || value === field.dataset.usual);
}

/** send commits what a field says, if that is new. Typing in one field is one step of the history. */
export function send(field: HTMLElement): void {
  clearTimeout(waiting.get(field));
  waiting.delete(field);
  const ops = field.isConnected ? opsOf(field) : undefined;
  if (ops?.length) canvas.commit(`Change ${titleOf(field)}`, ops, { key: `${field.closest<HTMLElement>("[data-node]")!.dataset.node} ${field.dataset.key}` });
}

/** commitWith sends a field together with other edits, as one step. */
export function commitWith(field: HTMLElement, label: string, more: Op[]): void {
  clearTimeout(waiting.get(field));
  waiting.delete(field);
  const ops = opsOf(field);
  if (ops) canvas.commit(label, [...ops, ...more]);
}

export function titleOf(field: HTMLElement): string { return field.querySelector("label, .label")?.textContent?.trim().toLowerCase() ?? "node"; }

/** mark says at once why a field cannot be read; its text stays. */
function mark(field: HTMLElement, error: string | undefined): void {
  const old = field.querySelector(":scope > .ins-unread"), c = field.querySelector("input:not([type=hidden], [type=range]), textarea, select");
  field.toggleAttribute("data-unread", !!error);
  if (error && old?.textContent === error) return;
  old?.remove();
  if (!error) { if (old) c?.removeAttribute("aria-invalid"); return; }
  c?.setAttribute("aria-invalid", "true");
  field.querySelector(":scope > [data-slot=said]")?.before(el("p", { class: "error ins-unread", role: "status" }, icon("circle-alert"), el("span", {}, error)));
}

/** shown writes a value that the draft got from elsewhere, by undo say, into its field. */
export function shown(node: string, key: string, value: unknown): void {
  const at = section();
  if (at?.dataset.node !== node) return;
  const field = at.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (!field || same(read(field).value, value) || waiting.has(field)) return;
  if (write(field, value)) { mark(field, undefined); field.dispatchEvent(new Event("ins:wrote", { bubbles: true })); }
}

const lasting = "[data-models=hosted]"; // what is only taken over once it is whole

pane.addEventListener("input", (e) => {
  const t = e.target as HTMLElement, field = fieldOf(t);
  if (!field || t.closest(lasting) || t.matches("[type=file], [type=password]")) return;
  if (t.matches("[type=range]")) slide(t as HTMLInputElement);
  later(field);
});
pane.addEventListener("change", (e) => {
  const t = e.target as HTMLElement, field = fieldOf(t);
  if (field && !t.closest(lasting) && !t.matches("[type=file], [type=password]")) send(field);
});
pane.addEventListener("focusout", (e) => {
  const field = fieldOf(e.target as Element);
  if (!field || field.contains(e.relatedTarget as Node)) return;
  if (waiting.has(field)) send(field);
  canvas.history?.seal();
});
addEventListener("pagehide", settle, { capture: true }); // before the canvas sends what waits

function slide(range: HTMLInputElement): void {
  const c = document.getElementById(range.dataset.slides!) as HTMLInputElement;
  c.value = range.value;
}
pane.addEventListener("input", (e) => {
  const range = (e.target as Element).closest(".ins-number")?.querySelector<HTMLInputElement>("[type=range]");
  if (range && range !== e.target) range.value = (e.target as HTMLInputElement).value;
});
