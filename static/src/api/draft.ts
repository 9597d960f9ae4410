// The pane in the builder: what follows the draft is fetched anew after each
// change that is saved, if the pane is seen, and else once it is.
import htmx from "htmx.org/dist/htmx.esm.js";
import { inView } from "./calls.ts";
import { putKey } from "./keys.ts";

/** Builder is what the pane needs of the page around it, which is loaded before. */
export type Builder = {
  canvas: EventTarget & { sync: { rev: number } };
  path: string; // of the flow
  show(node: string): boolean; // false when the canvas has no such node
  follow(run: string, live: boolean): void;
};

let at: Builder | undefined;
const pane = document.getElementById("flow-api")!;
const draft = () => document.getElementById("api-draft");
let changed = 0; // when what is shown became old; 0 while it is not
let going = false;

/** old tells that the draft has moved on since the pane was rendered. */
const old = (): boolean => Number(draft()?.dataset.rev ?? Infinity) < at!.canvas.sync.rev;

function change(): void {
  changed ||= performance.now();
  void refresh();
}

/** refresh takes over what the server says now, one request at a time. */
async function refresh(): Promise<void> {
  if (going || !changed || !inView() || !draft()) return;
  going = true;
  try {
    while (changed && inView()) {
      const from = changed;
      changed = 0;
      await htmx.ajax("GET", `${at!.path}/api?part=draft`, { target: "#api-draft", swap: "outerMorph" });
      putKey();
      performance.measure("api:followed", { start: from });
    }
  } finally { going = false; }
}

/** begin follows the draft of the page that the pane is in; later calls look whether it is old. */
export function begin(builder: Builder): void {
  if (at) return void refresh();
  at = builder;
  for (const name of ["canvas:acked", "canvas:remote"]) at.canvas.addEventListener(name, change);
  for (const name of ["flow:live", "flow:published"]) document.addEventListener(name, change);
  document.addEventListener("visibilitychange", () => void refresh());
  if (old()) change();
}

// A field leads to its node; the pane stays.

pane.addEventListener("click", (e) => {
  if (e.ctrlKey || e.metaKey || e.shiftKey) return;
  const target = e.target as Element, field = target.closest<HTMLElement>("[data-show]"), run = target.closest<HTMLElement>("[data-follow]");
  if (field && at?.show(field.dataset.show!)) e.preventDefault();
  if (!run || !at) return;
  e.preventDefault();
  at.follow(run.dataset.follow!, false);
});

// A request that is tried out: its run goes over the canvas as it goes.

const tab = `${Date.now()}-${Math.random()}`; // crypto.randomUUID is for https alone
let last = "";
pane.addEventListener("submit", (e) => {
  const field = (e.target as Element).querySelector<HTMLInputElement>("[data-tab]");
  if (field) field.value = tab;
}, true);
for (const name of ["flow:tried", "api:tried"]) document.addEventListener(name, (e) => {
  const { run, tab: by } = (e as CustomEvent<{ run: string; tab?: string }>).detail;
  if ((by !== undefined && by !== tab) || run === last) return;
  last = run;
  at?.follow(run, true);
});
