// The tab API. Its script comes when it is first shown.
import { follow } from "../running/stream.ts";
import { canvas, flowPath, readonly, whenReady } from "./canvas.ts";
import { command, perform } from "./commands.ts";
import { keep, kept } from "./dom.ts";
import { bring } from "./jump.ts";
import { sheet, showTab } from "./panes.ts";

const tabs = ["node", "api", "runs"] as const;
const api = document.getElementById("tab-api")!;
const show = (): void => { showTab("api"); sheet(true); };
const shown = (tab: HTMLElement): boolean => tab.getAttribute("aria-selected") === "true";

async function come(): Promise<void> {
  const [{ begin }] = await Promise.all([import("../api/draft.ts"), whenReady]);
  begin({ canvas, path: flowPath, show: showNode, follow });
}

function showNode(node: string): boolean {
  if (!canvas.scene.elements.has(node)) return false;
  if (perform("show-canvas")) sheet(false);
  canvas.selection.set([node]);
  bring(node);
  return true;
}

// Arrow keys choose tabs too, so the tabs themselves are watched.
for (const name of tabs) {
  const tab = document.getElementById(`tab-${name}`)!;
  new MutationObserver(() => {
    if (!shown(tab)) return;
    keep("pane", name);
    if (tab === api) void come();
  }).observe(tab, { attributeFilter: ["aria-selected"] });
}

command({ name: "show-api", title: "Show the API", hint: "How programs call this flow", icon: "terminal", keys: "A", run: show });
if (!readonly) {
  command({ name: "try-api", title: "Try the API", hint: "Send a real request", icon: "send", run: () => { show(); open("#api-try", "textarea, select, input:not([type=hidden]), button"); } });
  command({ name: "new-key", title: "New key for this flow", icon: "key-round", run: () => { show(); open("#api-keys", "input:not([type=hidden]), button, a"); } });
}

/** open brings a section of the pane into view, with the focus on its first control. */
function open(section: string, first: string): void {
  const s = document.querySelector<HTMLElement>(section), d = s?.querySelector("details");
  if (d) d.open = true;
  s?.scrollIntoView({ block: "start" });
  s?.querySelector<HTMLElement>(`${d ? "details > :not(summary)" : ""} :is(${first})`)?.focus({ preventScroll: true });
}

const was = tabs.find((t) => t === kept("pane"));
if (was && was !== "node") showTab(was);
