// Runs the code of a node with the input values of the last run.
import { onClick } from "../listen.ts";
import { html } from "../builder/dom.ts";
import { ask, nodePath } from "./ask.ts";
import { pane, section, settle } from "./fields.ts";

onClick<HTMLButtonElement>(pane, "[data-try]", async (button, e) => {
  const node = section()?.dataset.node, place = button.parentElement!.querySelector("[data-tried]")!, code = button.closest("[data-set]")!.querySelector<HTMLTextAreaElement>("textarea")!;
  if (!node) return;
  e.preventDefault();
  if (button.ariaBusy) return; // it stays enabled, because a disabled button loses the focus
  settle();
  button.ariaBusy = "true";
  const r = await ask(`${nodePath(node)}/try`, { method: "POST", body: new URLSearchParams({ [code.name]: code.value }) });
  button.ariaBusy = null;
  if (r?.ok) place.replaceChildren(html(await r.text()));
});
