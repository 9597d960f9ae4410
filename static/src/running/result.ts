// The Result tab: outputs or error of the shown run, and the questions that it waits for. It opens
// when a run that was started here ends or waits, even if a node is selected.
import { flowPath } from "../builder/canvas.ts";
import { command } from "../builder/commands.ts";
import { html } from "../builder/dom.ts";
import { sheet, showTab } from "../builder/panes.ts";
import htmx from "htmx.org/dist/htmx.esm.js";
import { roll } from "./roll.ts";
import { ask } from "./ask.ts";
import { shown, subscribe, type RunEvent, type Shown } from "./events.ts";

const place = document.getElementById("flow-result")!;
const empty = [...place.childNodes];

/** load shows the result of a run, unless another run was opened in the meantime. */
async function load(run: string): Promise<void> {
  const r = await ask(`${flowPath}/runs/${encodeURIComponent(run)}/result`);
  if (!r?.ok || shown?.id !== run) return;
  place.replaceChildren(html(await r.text()));
  htmx.process(place);
}

/** open loads the result of a run, and opens the tab if the run was started here. */
async function open({ id, live }: Shown): Promise<void> {
  await load(id);
  if (!live || shown?.id !== id) return;
  roll(place);
  showTab("result");
  sheet(true);
}

// A run that waits may ask a question, which is answered here.
let state = shown?.state ?? "";
subscribe<RunEvent>("run", (n) => {
  const before = state;
  state = n.state;
  if (n.state === "waiting" && before !== "waiting" && shown) void open(shown);
});

subscribe<Shown>("over", open);
subscribe("clear", () => { state = ""; place.replaceChildren(...empty); });

command({ name: "result", title: "Show result", icon: "circle-check", run: () => { showTab("result"); sheet(true); } });
document.addEventListener("flow:published", () => { if (shown?.over) void load(shown.id); }); // the next step that the tab suggests has changed
if (shown?.over || shown?.state === "waiting") void open(shown); // it ended or waited before this script was loaded
