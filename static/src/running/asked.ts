// Which tools of agents have a call that waits for an answer. Such a tool shows that, and not the state of an earlier call
// or of another one.
import type { AgentEvent, StepEvent } from "./events.ts";

/** Asked is since when (performance.now) each tool waits, by its node. */
type Asked = ReadonlyMap<string, number>;
const byAgent = new Map<string, Asked>();

/** take takes over what agents ask, and returns the tools with calls that wait now or waited before. */
export function take(agents: readonly AgentEvent[], now = performance.now()): Set<string> {
  const tools = new Set<string>();
  for (const a of agents) {
    const asked = new Map<string, number>();
    for (const { node, ms } of a.asks ?? []) asked.set(node, Math.min(now - ms, asked.get(node) ?? now));
    for (const list of [byAgent.get(a.node), asked]) for (const node of list?.keys() ?? []) tools.add(node);
    byAgent.set(a.node, asked);
  }
  return tools;
}

/** askedSince returns since when (performance.now) a call of a tool waits for an answer; undefined if none does. */
export function askedSince(node: string): number | undefined {
  const since = [...byAgent.values()].flatMap((asked) => asked.get(node) ?? []);
  return since.length ? Math.min(...since) : undefined;
}

/** forget drops all of it, for another run. */
export function forget(): void { byAgent.clear(); }

/** stateOf returns the state that a node shows: that of its step, unless a call of it waits. */
export const stateOf = (node: string, step: Pick<StepEvent, "state"> | undefined): string => (askedSince(node) === undefined ? step?.state ?? "" : "waiting");
