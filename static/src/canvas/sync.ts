// Saves changes on the server: one transaction at a time, each with a unique ID
// that makes it idempotent. After a conflict (409) the missed transactions are
// applied and the unsaved ones rebased onto them; a rejected transaction (422) is
// undone. Unsaved changes survive a lost connection, a reload and a closed tab.
//
// POST {base, tab, txid, ops}: 200 {rev, ops?, html?} with the fields whose value the server replaced, 409 {rev, missed}, 410 reload,
// 422 {detail}. GET ?since=rev: {rev, missed}. A missed transaction is {rev, tab, txid, ops, html?}.
import type { Announcer, Emitter } from "./context.ts";
import { mergeText } from "./merge.ts";
import type { Op } from "./ops.ts";
import { load, loadJSON, store } from "./storage.ts";

export type Waiting = { txid: string; ops: Op[]; undo: Op[]; left?: boolean }; // left: sent while the page unloaded, so the response is unknown
export type Remote = { rev: number; tab?: string; txid?: string; ops: Op[]; html?: string; problems?: string };
type Answer = { rev: number; ops?: Op[]; html?: string; problems?: string; missed?: Remote[]; title?: string; detail?: string; node?: string };
export type SaveState = "saved" | "saving" | "offline" | "reload";

const keepaliveBytes = 60_000; // the fetch standard lets requests with bodies of up to 64 KiB in total outlive the page
const retryFirst = 500, retryMost = 15_000; // milliseconds, doubled after each failure

/** SyncContext is what saving needs of the canvas. */
export interface SyncContext extends Emitter {
  readonly announce: Announcer;
  readonly changes: { apply(ops: Op[]): Op[] };
  readonly history: { replace(sent: Op[], kept: Op[]): void; forget(txid: string): void };
  /** headers returns the headers of every request. */
  headers(): Record<string, string>;
  /** insides replaces the content of nodes by what the server rendered. */
  insides(html: string): void;
}

/**
 * Sync saves the draft. Invariant: the draft on the screen is the server's
 * revision rev with the queue applied on top, in order. So whatever comes from
 * the server is applied below the queue: undo the queue, apply, redo it (replace,
 * rebase and rejected do this). Every redo returns new inverses, because what an
 * operation has to restore may have changed.
 *
 * One request is in flight at a time, which keeps the transactions in order
 * without sequence numbers.
 */
export class Sync {
  readonly tab: string;
  private queue: Waiting[] = [];
  private inFlight: Waiting | undefined;
  private latest = 0; // the highest revision that the server announced
  private pause = retryFirst;
  private timer = 0;
  private state: SaveState = "saved";
  private stop = new AbortController();

  constructor(private canvas: SyncContext, private url: string, public rev: number, private key: string) {
    this.tab = load("sessionStorage", `${key}:tab`) || crypto.randomUUID();
    store("sessionStorage", `${key}:tab`, this.tab);
    const { signal } = this.stop;
    addEventListener("online", () => this.retryNow(), { signal });
    addEventListener("pageshow", () => this.flush(), { signal });
    addEventListener("pagehide", () => this.leave(), { signal });
  }

  /** resume applies and sends changes that a reload interrupted. */
  resume(): void {
    for (const w of loadJSON<Waiting[]>("sessionStorage", `${this.key}:queue`) ?? []) this.queue.push({ ...w, undo: this.canvas.changes.apply(w.ops) });
    this.flush();
  }

  /** push queues a transaction that was applied to the draft, and sends it unless the server is unreachable. */
  push(w: Waiting): void {
    this.queue.push(w);
    this.persist();
    this.setState(this.state === "offline" ? "offline" : "saving");
    if (this.state !== "offline") this.flush();
  }

  /** waiting is the number of transactions that are not saved. */
  get waiting(): number { return this.queue.length; }

  /** adds reports whether a node is unsaved, so that the server does not know it yet. */
  adds(id: string): boolean {
    return this.queue.some((w) => w.ops.some((op) => op.op === "add" && op.node.id === id));
  }

  /** flush sends the first queued transaction; its response sends the next. */
  flush(): void {
    if (this.inFlight || !this.queue.length || this.state === "reload" || !this.url) return;
    this.inFlight = this.queue[0]!;
    void this.send(this.inFlight).finally(() => {
      this.inFlight = undefined;
      if (this.state === "offline") this.timer = window.setTimeout(() => this.flush(), (this.pause = Math.min(this.pause * 2, retryMost)));
      else if (this.queue.length) this.flush();
      else this.catchUp();
    });
  }

  /** send posts a transaction and handles each kind of response. */
  private async send(w: Waiting): Promise<void> {
    const body = this.body(w, this.rev);
    let r: Response;
    try {
      r = await fetch(this.url, { method: "POST", headers: this.headers(), body, keepalive: body.length < keepaliveBytes, signal: this.stop.signal });
    } catch { return this.setState("offline"); }
    const answer = (await r.json().catch(() => ({}))) as Answer;
    if (r.ok) return this.accepted(w, answer);
    if (r.status === 409 && answer.missed) return this.rebase(answer.missed, answer.rev);
    if (r.status === 410 || r.status === 409) return this.setState("reload");
    if (r.status >= 500 || r.status === 429 || r.status === 408 || r.status === 401) return this.setState("offline"); // 401: signed out in another tab; the user may sign in again
    this.rejected(w, answer);
  }

  private headers(): Record<string, string> { return { "content-type": "application/json", ...this.canvas.headers() }; }
  private body(w: Waiting, base: number): string { return JSON.stringify({ base, tab: this.tab, txid: w.txid, ops: w.ops }); }

  /** accepted handles a saved transaction. */
  private accepted(w: Waiting, a: Answer): void {
    this.rev = Math.max(this.rev, a.rev);
    if (a.ops?.length) this.replace(w, a.ops);
    this.queue.splice(this.queue.indexOf(w), 1);
    this.pause = retryFirst;
    this.persist();
    if (a.html) this.canvas.insides(a.html);
    this.canvas.emit("canvas:acked", { rev: a.rev, problems: a.problems });
    this.setState(this.queue.length ? "saving" : "saved");
  }

  /** replace applies values that the server kept instead of the sent ones, such as a credential for a typed secret, to the draft and the history. */
  private replace(w: Waiting, ops: Op[]): void {
    const later = this.queue.filter((q) => q !== w);
    for (const q of later.toReversed()) this.canvas.changes.apply(q.undo);
    this.canvas.changes.apply(ops);
    for (const q of later) q.undo = this.canvas.changes.apply(q.ops);
    this.canvas.history.replace(w.ops, ops);
  }

  /** rebase undoes unsaved changes, applies those of others, and applies the unsaved ones on top. */
  private rebase(missed: Remote[], rev: number): void {
    for (const w of this.queue.toReversed()) this.canvas.changes.apply(w.undo);
    this.mergeTexts(missed.filter((m) => m.rev > this.rev && m.tab !== this.tab));
    const known = new Set(this.queue.map((w) => w.txid));
    for (const m of missed) {
      if (m.rev <= this.rev) continue;
      this.canvas.changes.apply(m.ops);
      for (const w of this.queue) if (w.txid === m.txid) this.canvas.history.replace(w.ops, m.ops);
      if (m.txid && known.has(m.txid)) this.queue = this.queue.filter((w) => w.txid !== m.txid); // saved, but its response was lost
    }
    for (const w of this.queue) w.undo = this.canvas.changes.apply(w.ops);
    this.rev = Math.max(this.rev, rev);
    for (const m of missed) if (m.html) this.canvas.insides(m.html);
    this.persist();
    if (missed.some((m) => m.tab !== this.tab)) this.canvas.emit("canvas:remote", { rev, problems: missed.at(-1)?.problems });
    this.setState(this.queue.length ? "saving" : "saved");
  }

  /** mergeTexts puts what others typed into a text field into the unsaved texts of the same field, so that neither is lost. */
  private mergeTexts(missed: Remote[]): void {
    for (const theirs of missed.flatMap((m) => m.ops)) {
      if (theirs.op !== "set" || typeof theirs.value !== "string") continue;
      const same = (op: Op) => op.op === "set" && op.node === theirs.node && op.field === theirs.field;
      let base: unknown, now = theirs.value;
      for (const w of this.queue) {
        const mine = w.ops.find(same), was = w.undo.find(same), sent = w.ops;
        if (mine?.op !== "set" || was?.op !== "set" || typeof mine.value !== "string") continue;
        base ??= was.value ?? "";
        const merged = typeof base === "string" ? mergeText(base, mine.value, now) : undefined;
        if (merged === undefined) this.canvas.emit("canvas:clash", { node: theirs.node, field: theirs.field, value: theirs.value });
        base = mine.value; // the next text was typed after this one
        now = merged ?? mine.value;
        if (merged === undefined || merged === mine.value) continue;
        w.ops = w.ops.map((op) => (op === mine ? { ...mine, value: merged } : op));
        this.canvas.history.replace(sent, w.ops);
      }
    }
  }

  /** rejected takes a transaction back that the server refused, and keeps the ones after it. */
  private rejected(w: Waiting, a: Answer): void {
    for (const q of this.queue.toReversed()) this.canvas.changes.apply(q.undo);
    this.queue = this.queue.filter((q) => q !== w);
    for (const q of this.queue) q.undo = this.canvas.changes.apply(q.ops);
    this.canvas.history.forget(w.txid);
    this.persist();
    const reason = a.detail || a.title || "The server rejected this change.";
    this.canvas.announce.say(reason);
    this.canvas.emit("canvas:refused", { reason, node: a.node, by: "server" });
    this.setState(this.queue.length ? "saving" : "saved");
  }

  /** remote handles a transaction that the server announced, such as another tab's. */
  remote(m: Remote): void {
    if (!this.url) return; // this is not a draft
    this.latest = Math.max(this.latest, m.rev);
    if (this.inFlight || m.rev <= this.rev) return; // the response will bring it, or it is known
    if (m.rev === this.rev + 1) this.rebase([m], m.rev);
    else this.catchUp();
  }

  /** catchUp fetches missed transactions, after the event stream was interrupted. */
  private catchUp(): void {
    if (this.latest <= this.rev || this.state === "reload") return;
    void this.fetchMissed(`${this.url}?since=${this.rev}`);
  }

  /** fetchMissed rebases onto the missed transactions. A revision too old for the server's log (410) needs a reload. */
  private async fetchMissed(url: string): Promise<void> {
    try {
      const r = await fetch(url, { headers: this.canvas.headers(), signal: this.stop.signal });
      if (r.status === 410) return this.setState("reload");
      const a = (await r.json()) as Answer;
      if (r.ok && !this.inFlight) this.rebase(a.missed ?? [], a.rev);
    } catch { /* the next message of the stream asks again */ }
  }

  /** retryNow sends without waiting for the back-off, when the browser reports a connection. */
  private retryNow(): void {
    clearTimeout(this.timer);
    if (this.state === "offline") this.setState("saving");
    this.flush();
  }

  private setState(state: SaveState): void {
    this.state = state;
    this.canvas.emit("canvas:state", { state, waiting: this.queue.length, rev: this.rev });
  }

  /**
   * leave sends the queue as one transaction while the page unloads, when only
   * sendBeacon is still allowed. Its response is never seen, so a reload sends the
   * transaction again under the same ID, and the server ignores the second one.
   * The base is the revision that the request in flight will lead to.
   */
  private leave(): void {
    const rest = this.queue.filter((w) => w !== this.inFlight && !w.left);
    if (!rest.length || this.state === "reload" || !this.url) return;
    const all: Waiting = { txid: crypto.randomUUID(), ops: rest.flatMap((w) => w.ops), undo: rest.toReversed().flatMap((w) => w.undo), left: true };
    this.queue = [...this.queue.filter((w) => !rest.includes(w)), all];
    this.persist();
    const base = this.rev + (this.inFlight ? 1 : 0);
    navigator.sendBeacon(this.url, new Blob([this.body(all, base)], { type: "application/json" }));
  }

  /** persist keeps the queue for a reload; when the storage is full, it is still in memory. */
  private persist(): void { store("sessionStorage", `${this.key}:queue`, this.queue.length ? JSON.stringify(this.queue) : ""); }

  /** end sends what is left and stops. */
  end(): void {
    this.leave();
    clearTimeout(this.timer);
    this.stop.abort();
  }
}
