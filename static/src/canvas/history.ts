// Undo and redo of own changes. One gesture is one step. Steps are ops with
// the ops that undo them, so they survive a reload of the page.
import type { Announcer, Emitter } from "./context.ts";
import type { Op } from "./ops.ts";

export type Step = { label: string; redo: Op[]; undo: Op[]; key?: string; txids: string[] };

const keepBytes = 1 << 20; // of sessionStorage, which holds 5 MB for all flows of a tab

/** HistoryContext is what the history needs of the canvas. */
export interface HistoryContext extends Emitter {
  readonly readonly: boolean;
  readonly announce: Announcer;
  readonly changes: { perform(ops: Op[]): { undo: Op[]; txid: string } };
}

export class History {
  private done: Step[] = [];
  private undone: Step[] = [];

  constructor(private canvas: HistoryContext, private key: string) {
    try {
      const kept = JSON.parse(sessionStorage.getItem(key) ?? "");
      this.done = kept.done;
      this.undone = kept.undone;
    } catch { /* a new tab */ }
  }

  /** record keeps a step. Steps with the same key, and those that join, become one with the step before. */
  record(step: Step, join = false): void {
    const last = this.done.at(-1);
    if (last && (join || (step.key && last.key === step.key))) {
      last.redo.push(...step.redo);
      last.undo.unshift(...step.undo);
      last.txids.push(...step.txids);
    } else this.done.push(step);
    this.undone = [];
    this.keep();
  }

  /** seal ends the merging of steps with the same key, when a field loses the focus. */
  seal(): void {
    const last = this.done.at(-1);
    if (last) delete last.key;
  }

  undo(): void { this.turn(this.done, this.undone, "undo", "Undid"); }
  redo(): void { this.turn(this.undone, this.done, "redo", "Redid"); }

  private turn(from: Step[], to: Step[], way: "undo" | "redo", word: string): void {
    if (this.canvas.readonly) return;
    const step = from.pop();
    if (!step) return this.canvas.announce.say(`Nothing to ${way}`);
    const { undo, txid } = this.canvas.changes.perform(step[way]);
    if (!undo.length) {
      this.keep();
      return this.canvas.announce.say(`Nothing to ${way}: it was changed elsewhere`);
    }
    const back = way === "undo" ? "redo" : "undo";
    to.push({ ...step, [back]: undo, txids: [txid] });
    this.keep();
    this.canvas.announce.say(`${word} ${step.label}`);
  }

  /** forget drops the step that a refused change made. */
  forget(txid: string): void {
    this.done = this.done.filter((s) => !s.txids.includes(txid));
    this.undone = this.undone.filter((s) => !s.txids.includes(txid));
    this.keep();
  }

  /** replace puts the values of kept ops in the place of the values that were sent, in all steps. */
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
    this.keep();
  }

  /** labels say what the next undo and redo would do, for tooltips. */
  get labels(): { undo?: string; redo?: string } {
    return { undo: this.done.at(-1)?.label, redo: this.undone.at(-1)?.label };
  }

  private keep(): void {
    let done = this.done;
    let text = JSON.stringify({ done, undone: this.undone });
    while (text.length > keepBytes && done.length) { // the oldest steps go first
      done = done.slice(Math.ceil(done.length / 4));
      text = JSON.stringify({ done, undone: this.undone });
    }
    try { sessionStorage.setItem(this.key, text); } catch { /* full: undo works until the reload */ }
    this.canvas.emit("canvas:history", this.labels);
  }
}

/** fields are the config values that ops write, as JSON. */
function fields(ops: Op[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const op of ops) {
    if (op.op === "set" && op.value !== undefined) found.set(`${op.node}.${op.field}`, JSON.stringify(op.value));
    if (op.op === "add") for (const [name, value] of Object.entries(op.node.config)) found.set(`${op.node.id}.${name}`, JSON.stringify(value));
  }
  return found;
}

/** swap gives the op with another value of a field, if it writes the one that was. */
function swap(op: Op, node: string, field: string, was: string, value: unknown): Op {
  if (op.op === "set" && op.node === node && op.field === field && JSON.stringify(op.value) === was) return { ...op, value };
  if (op.op === "add" && op.node.id === node && JSON.stringify(op.node.config[field]) === was) return { ...op, node: { ...op.node, config: { ...op.node.config, [field]: value } } };
  return op;
}
