// Undo and redo of changes made in this tab. One gesture is one step. Steps hold
// operations and their inverse, so they survive a reload of the page.
import type { Announcer, Emitter } from "./context.ts";
import type { Op } from "./ops.ts";
import { loadJSON, store } from "./storage.ts";

export type Step = { label: string; redo: Op[]; undo: Op[]; key?: string; txids: string[] };

const maxBytes = 1 << 20; // of sessionStorage, whose 5 MB all flows of a tab share

/** HistoryContext is what the history needs of the canvas. */
export interface HistoryContext extends Emitter {
  readonly readonly: boolean;
  readonly announce: Announcer;
  readonly changes: { perform(ops: Op[]): { undo: Op[]; txid: string } };
}

/**
 * History keeps two stacks of steps. Undo applies a step's inverse as an ordinary
 * change, so it is saved and shown in other tabs like any edit; it never rewinds
 * the document. Only this tab's own changes are on the stacks: undoing another
 * user's work would surprise both.
 */
export class History {
  private done: Step[] = [];
  private undone: Step[] = [];

  constructor(private canvas: HistoryContext, private key: string) {
    const kept = loadJSON<{ done: Step[]; undone: Step[] }>("sessionStorage", key);
    if (kept) ({ done: this.done, undone: this.undone } = kept);
  }

  /** record adds a step. It is merged into the last one when both have the same key, or with join. */
  record(step: Step, join = false): void {
    const last = this.done.at(-1);
    if (last && (join || (step.key && last.key === step.key))) {
      last.redo.push(...step.redo);
      last.undo.unshift(...step.undo);
      last.txids.push(...step.txids);
    } else this.done.push(step);
    this.undone = [];
    this.save();
  }

  /** seal ends the merging of steps with the same key, such as when a field loses the focus. */
  seal(): void {
    const last = this.done.at(-1);
    if (last) delete last.key;
  }

  /** undo reverts the last step; redo reverts the last undo. */
  undo(): void { this.step(this.done, this.undone, "undo", "Undid"); }
  redo(): void { this.step(this.undone, this.done, "redo", "Redid"); }

  /**
   * step moves one step between the stacks. Operations skip what no longer exists;
   * if that leaves nothing, the step is dropped, because another user removed what
   * it was about.
   */
  private step(from: Step[], to: Step[], way: "undo" | "redo", word: string): void {
    if (this.canvas.readonly) return;
    const step = from.pop();
    if (!step) return this.canvas.announce.say(`Nothing to ${way}`);
    const { undo, txid } = this.canvas.changes.perform(step[way]);
    if (!undo.length) {
      this.save();
      return this.canvas.announce.say(`Nothing to ${way}: changed elsewhere`);
    }
    const back = way === "undo" ? "redo" : "undo";
    to.push({ ...step, [back]: undo, txids: [txid] });
    this.save();
    this.canvas.announce.say(`${word} ${step.label}`);
  }

  /** forget drops the step of a transaction that the server rejected. */
  forget(txid: string): void {
    this.done = this.done.filter((s) => !s.txids.includes(txid));
    this.undone = this.undone.filter((s) => !s.txids.includes(txid));
    this.save();
  }

  /** replace replaces field values that were sent by those that the server kept, in all steps. */
  replace(sent: Op[], kept: Op[]): void {
    const config = fields(sent);
    for (const op of kept) {
      if (op.op !== "set") continue;
      const was = config.get(`${op.node}.${op.field}`);
      if (was === undefined) continue;
      for (const step of [...this.done, ...this.undone]) {
        step.redo = step.redo.map((o) => swap(o, op.node, op.field, was, op.value));
        step.undo = step.undo.map((o) => swap(o, op.node, op.field, was, op.value));
      }
    }
    this.save();
  }

  /** labels returns what undo and redo would do next, for tooltips. */
  get labels(): { undo?: string; redo?: string } {
    return { undo: this.done.at(-1)?.label, redo: this.undone.at(-1)?.label };
  }

  /** save stores both stacks for a reload, dropping the oldest quarter until they fit. */
  private save(): void {
    let done = this.done;
    let text = JSON.stringify({ done, undone: this.undone });
    while (text.length > maxBytes && done.length) { // the oldest steps go first
      done = done.slice(Math.ceil(done.length / 4));
      text = JSON.stringify({ done, undone: this.undone });
    }
    store("sessionStorage", this.key, text); // when it is full, undo works until the reload
    this.canvas.emit("canvas:history", this.labels);
  }
}

/** fields returns the config values that operations write, as JSON, by "node.field". */
function fields(ops: Op[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const op of ops) {
    if (op.op === "set" && op.value !== undefined) found.set(`${op.node}.${op.field}`, JSON.stringify(op.value));
    if (op.op === "add") for (const [name, value] of Object.entries(op.node.config)) found.set(`${op.node.id}.${name}`, JSON.stringify(value));
  }
  return found;
}

/** swap returns the operation with another value of a field, if it writes the old one. */
function swap(op: Op, node: string, field: string, was: string, value: unknown): Op {
  if (op.op === "set" && op.node === node && op.field === field && JSON.stringify(op.value) === was) return { ...op, value };
  if (op.op === "add" && op.node.id === node && JSON.stringify(op.node.config[field]) === was) return { ...op, node: { ...op.node, config: { ...op.node.config, [field]: value } } };
  return op;
}
