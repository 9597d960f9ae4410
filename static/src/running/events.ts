// The events of a run's stream, and which run the page shows.
import { listen } from "../listen.ts";

/** RunError is an error and how to fix it. */
export type RunError = { Code: string; Text: string; Do: string; Node: string };

/** Preview is the result of a step, small enough to show in its node. */
export type Preview = { kind: "text" | "scores" | "image" | "file"; text?: string; file?: string; port?: string; scores?: { label: string; score: number }[] };

/** StepEvent is the state of a step. items has the number of items of each output port with a list; at is when it was recorded, in ms since 1970. */
export type StepEvent = { node: string; state: string; ms: number; items?: Record<string, number>; tokens?: string; cost?: string; error?: RunError; preview?: Preview; at: number };

/** ItemsEvent is how far the child runs of a step are. open is the page of one of them on its canvas, details where the run's page shows it. */
export type ItemsEvent = { node: string; done: number; failed: number; total: number; item: number; open?: string; details: string };

/** ToolAsk is a tool with a call that waits for an answer, for ms; tool is its name for the model. */
export type ToolAsk = { tool: string; node: string; ms: number };

/** AgentEvent is how far an agent is that works: its newest turn, the tools that it calls, those whose calls wait for an answer, and how much of its context and money is used. */
export type AgentEvent = { node: string; turn: number; turns?: string; calls?: string[]; asks?: ToolAsk[]; context?: string; used: number; cost?: string; limit?: string };

/** RunEvent is the state of the run; bar is the run bar as HTML. */
export type RunEvent = { run: string; state: string; steps: string; ms: number; cost: string; error?: RunError; bar: string; title?: string };

/** TextEvent is streamed text of a step; reset discards the text before it. */
export type TextEvent = { node: string; text: string; reset?: boolean };

/** Shown is the run that the page shows. live: it was started here. */
export type Shown = { id: string; live: boolean; over: boolean; state: string };

/** stateLabel returns a state as it is displayed, such as "Succeeded". */
export const stateLabel = (state: string): string => state.charAt(0).toUpperCase() + state.slice(1);

export let shown: Shown | undefined;
export function show(run: Shown | undefined): void { shown = run; }

/** bus delivers events to the parts of the page: run, steps, agents, text, clear. */
export const bus = new EventTarget();
export function publish(name: string, detail?: unknown): void { bus.dispatchEvent(new CustomEvent(name, { detail })); }
export function subscribe<T>(name: string, act: (detail: T) => void): void { listen<T>(bus, name, act); }

/** formatDuration returns milliseconds as text, less precise the longer they are. */
export function formatDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  return s < 100 ? `${Math.floor(s)} s` : `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
}
