// The API pane in the builder. The part that depends on the draft is loaded again
// after each saved change, as soon as the pane is visible.
import htmx from "htmx.org/dist/htmx.esm.js";
import { listen, onClick } from "../listen.ts";
import { inView } from "./calls.ts";
import { putKey } from "./keys.ts";

/** Builder is the interface of the page that contains the pane. */
export type Builder = {
  canvas: EventTarget & { sync: { rev: number } };
  path: string; // of the flow
  show(node: string): boolean; // reports whether the node exists
  follow(run: string, live: boolean): void;
};

let page: Builder | undefined;
const pane = document.getElementById("flow-api")!;
const draft = () => document.getElementById("api-draft");
let changed = 0; // when the draft changed (performance.now); 0 while the pane is up to date
let loading = false;

/** isStale reports whether the draft has changed since the pane was rendered. */
const isStale = (): boolean => Number(draft()?.dataset.rev ?? Infinity) < page!.canvas.sync.rev;

function change(): void {
  changed ||= performance.now();
  void refresh();
}

/** refresh loads the part again, one request at a time. */
async function refresh(): Promise<void> {
  if (loading || !changed || !inView() || !draft()) return;
  loading = true;
  try {
    while (changed && inView()) {
      const from = changed;
      changed = 0;
      await htmx.ajax("GET", `${page!.path}/api?part=draft`, { source: draft(), target: draft(), swap: "outerMorph" });
      putKey();
      performance.measure("api:followed", { start: from });
    }
  } finally { loading = false; }
}

/** begin starts to follow the draft; later calls refresh a stale pane. */
export function begin(builder: Builder): void {
  if (page) return void refresh();
  page = builder;
  listen(page.canvas, "canvas:acked canvas:remote", change);
  listen(document, "flow:live flow:published", change);
  document.addEventListener("visibilitychange", () => void refresh());
  if (isStale()) change();
}

// Fields link to their nodes; the pane stays open.

onClick(pane, "[data-show]", (link, e) => { if (!newTab(e) && page?.show(link.dataset.show!)) e.preventDefault(); });
onClick(pane, "[data-follow]", (link, e) => {
  if (newTab(e) || !page) return;
  e.preventDefault();
  page.follow(link.dataset.follow!, false);
});

/** newTab reports whether a click opens the link in another tab or window. */
function newTab(e: MouseEvent): boolean { return e.ctrlKey || e.metaKey || e.shiftKey; }

// A run started from the pane is shown on the canvas.

const tab = `${Date.now()}-${Math.random()}`; // crypto.randomUUID requires https
let last = "";
pane.addEventListener("submit", (e) => {
  const field = (e.target as Element).querySelector<HTMLInputElement>("[data-tab]");
  if (field) field.value = tab;
}, true);
listen<{ run: string; tab?: string }>(document, "flow:tried api:tried", ({ run, tab: by }) => {
  if ((by !== undefined && by !== tab) || run === last) return;
  last = run;
  page?.follow(run, true);
});
