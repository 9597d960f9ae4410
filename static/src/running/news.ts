// What the stream of a run tells, and which run the page shows.

/** Trouble is why something failed and what to do about it. */
export type Trouble = { Code: string; Text: string; Do: string; Node: string };

/** Preview is the result of a step, small enough to stand in its node. */
export type Preview = { kind: "text" | "scores" | "image" | "file"; text?: string; file?: string; scores?: { label: string; score: number }[] };

/** StepNews is where a step stands; at is when that was recorded, in ms since 1970. */
export type StepNews = { node: string; state: string; ms: number; items?: number; tokens?: string; cost?: string; error?: Trouble; preview?: Preview; at: number };

/** RunNews is where the run stands; bar is the pill above the canvas as HTML. */
export type RunNews = { run: string; state: string; done: number; all: number; ms: number; cost: string; error?: Trouble; bar: string; title?: string };

/** TextNews is text of a step at work; reset voids what it said before. */
export type TextNews = { node: string; text: string; reset?: boolean };

/** Shown is the run that the page shows. */
export type Shown = { id: string; live: boolean; over: boolean; state: string };

const ended = new Set(["succeeded", "reused", "failed", "skipped", "canceled"]);
export const isOver = (state: string): boolean => ended.has(state);

export let shown: Shown | undefined;
export function show(run: Shown | undefined): void { shown = run; }

/** bus carries the news to the parts of the page: run, steps, text, clear. */
export const bus = new EventTarget();
export function tell(name: string, detail?: unknown): void { bus.dispatchEvent(new CustomEvent(name, { detail })); }
export function on<T>(name: string, act: (detail: T) => void): void { bus.addEventListener(name, (e) => act((e as CustomEvent<T>).detail)); }

/** took writes milliseconds with as much of them as matters. */
export function took(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  return s < 100 ? `${Math.floor(s)} s` : `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
}
