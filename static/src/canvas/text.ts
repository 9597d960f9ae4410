// Numbers and durations as a person reads them.

/** count returns a number with its noun, such as "1 node" and "2 nodes". */
export function count(n: number, noun: string): string { return `${n} ${noun}${n === 1 ? "" : "s"}`; }

/** duration returns milliseconds as text, such as "340 ms", "1.2 s" and "2 min 5 s". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
