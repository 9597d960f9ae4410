// The Result tab: what the shown run gave. It opens when a run that was
// started here ends, whatever is selected by then.
import { flowPath } from "../builder/canvas.ts";
import { command } from "../builder/commands.ts";
import { html } from "../builder/dom.ts";
import { sheet, showTab } from "../builder/panes.ts";
import htmx from "htmx.org/dist/htmx.esm.js";
import { ask } from "./ask.ts";
import { shown, subscribe, type Shown } from "./events.ts";

const place = document.getElementById("flow-result")!;
const empty = [...place.childNodes];

/** load shows the result of a run, unless another run is shown by then. */
async function load(run: string): Promise<void> {
  const r = await ask(`${flowPath}/runs/${encodeURIComponent(run)}/result`);
  if (!r?.ok || shown?.id !== run) return;
  place.replaceChildren(html(await r.text()));
  htmx.process(place);
}

/** ended loads the result of a run, and opens the tab if the run was started here. */
async function ended({ id, live }: Shown): Promise<void> {
  await load(id);
  if (!live || shown?.id !== id) return;
  showTab("result");
  sheet(true);
}

subscribe<Shown>("over", ended);
subscribe("clear", () => place.replaceChildren(...empty));

command({ name: "result", title: "Show result", icon: "circle-check", run: () => { showTab("result"); sheet(true); } });
document.addEventListener("flow:published", () => { if (shown?.over) void load(shown.id); }); // the next step is another one
if (shown?.over) void ended(shown); // before this part was loaded
