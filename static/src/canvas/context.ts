// What every part of the canvas may need of the whole. Beyond that each part
// declares an interface with just what it uses; the element satisfies them all.
import type { Op } from "./ops.ts";

/** Emitter dispatches an event on the element. emit returns false when the page called preventDefault. */
export interface Emitter {
  emit(name: string, detail: unknown): boolean;
}

/** CommitOptions say how a commit joins the history: steps with the same key become one, and join extends the last step. */
export type CommitOptions = { key?: string; join?: boolean };

/** Committer changes the draft. */
export interface Committer {
  /** readonly reports whether the draft cannot be changed here. */
  readonly readonly: boolean;
  /** commit applies operations as one step of the history and sends them. */
  commit(label: string, ops: Op[], options?: CommitOptions): void;
}

/** Announcer tells screen readers a sentence; a later one replaces it within a moment. */
export interface Announcer {
  say(text: string): void;
}

/** Repaintable paints in the next frame. With nodes = false only the view has moved. */
export interface Repaintable {
  paint(nodes?: boolean): void;
}
