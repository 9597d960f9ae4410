// Words of the canvas: numbers, durations and the states of steps.

/** count returns a number with its noun, such as "1 node" and "2 nodes". */
export function count(n: number, noun: string): string { return `${n} ${noun}${n === 1 ? "" : "s"}`; }

const final = new Set(["succeeded", "reused", "failed", "skipped", "canceled"]);

/** isOver reports whether a state of a step or run is final. */
export const isOver = (state: string): boolean => final.has(state);

/** duration returns milliseconds as text, such as "340 ms", "1.2 s" and "2 min 5 s". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
