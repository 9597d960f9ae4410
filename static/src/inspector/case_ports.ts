// The ports of a switch: one for each case, named after it (nodes/switch.go).
import type { Edge } from "../canvas/model.ts";
import type { Op } from "../canvas/ops.ts";

type Config = Record<string, unknown>;
type Case = { text: string; name: string; port: string };

const maxCases = 50;
const texts = (list: unknown): string[] => (Array.isArray(list) ? list.filter((t) => typeof t === "string").map((t) => (t as string).trim()) : []);

/** casesOf returns the cases of a switch with their ports. */
export function casesOf(config: Config): Case[] {
  const cases = texts(config.cases), byExpression = config.by === "expression", named = byExpression ? texts(config.names) : cases;
  return cases.slice(0, maxCases).map((text, i) => {
    let port = (named[i] ?? "").toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 60) || `case_${i + 1}`;
    if (port === "else" || port === "error" || /^[0-9]/.test(port)) port = `case_${port}`;
    return { text, name: byExpression ? (named[i] ?? "") : "", port };
  });
}

/** pairs finds for each case which one it became, or -1: the equal one, else the one with the same text or name, else the next that is new. */
function pairs(before: Case[], after: Case[]): number[] {
  const to = before.map(() => -1), free = new Set(after.keys());
  for (const equal of [(a: Case, b: Case) => a.text === b.text && a.name === b.name, (a: Case, b: Case) => a.text === b.text, (a: Case, b: Case) => a.name !== "" && a.name === b.name, () => true])
    for (const [i, was] of before.entries()) {
      const j = to[i]! < 0 ? [...free].find((n) => equal(was, after[n]!)) : undefined;
      if (j !== undefined) { to[i] = j; free.delete(j); }
    }
  return to;
}

/**
 * follow returns the operations by which the edges of a switch stay at their cases when cases are renamed, moved or removed. The
 * edges of a case that is gone are removed when drop is set, or when another case takes its port.
 */
export function follow(edges: readonly Edge[], node: string, before: Config, after: Config, drop: boolean): Op[] {
  const was = casesOf(before), now = casesOf(after), to = pairs(was, now), ports = new Set(now.map((c) => c.port));
  const cut: Op[] = [], put: Op[] = [], seen = new Map<string, number>();
  for (const edge of edges) {
    const at = seen.get(edge.to) ?? 0, i = was.findIndex((c) => edge.from === `${node}.${c.port}`), gone = i >= 0 && to[i]! < 0;
    if (gone && (drop || ports.has(was[i]!.port))) { cut.push({ op: "disconnect", edge }); continue; }
    seen.set(edge.to, at + 1); // edges that stay
    const port = i < 0 || gone ? undefined : now[to[i]!]!.port;
    if (port === undefined || port === was[i]!.port) continue;
    cut.push({ op: "disconnect", edge });
    put.push({ op: "connect", edge: { from: `${node}.${port}`, to: edge.to }, at });
  }
  return [...cut, ...put];
}
