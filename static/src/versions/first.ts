// What follows the first publish: a key is made and put into the command, and the
// first call is waited for and shown on the canvas.
import htmx from "htmx.org/dist/htmx.esm.js";
import { builder, flowPath } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { fetchPart } from "../builder/requests.ts";
import { copied } from "../copy.ts";
import { icon } from "../icon.ts";
import { listen, onClick } from "../listen.ts";
import { ask } from "../running/ask.ts";
import { follow } from "../running/stream.ts";
import { toast } from "../toasts.ts";

const interval = 800; // ms between questions for the first call
const placeholder = "slu_YOUR_KEY";

const dialog = (): HTMLDialogElement | null => document.querySelector<HTMLDialogElement>("#publish-dialog[open]");

onClick<HTMLButtonElement>(document, "[data-key-and-copy]", async (button) => {
  const code = document.getElementById("first-command")!;
  button.disabled = true;
  const made = code.textContent!.includes(placeholder) ? makeKey() : Promise.resolve(undefined);
  await copied(button, made.then((key) => {
    if (key) put(code, key);
    return code.textContent!.trim();
  }));
  button.disabled = false;
  const note = document.querySelector("[data-key-note]");
  if (!code.textContent!.includes(placeholder) && note) note.textContent = "Copied. The key is shown only now; it works for this flow only.";
});

/** makeKey makes a key for this flow with the name and rights that its form suggests. */
async function makeKey(): Promise<string> {
  const asked = await fetchPart(`${flowPath}/keys`), form = asked?.ok ? html(await asked.text()).querySelector("form") : null;
  const answer = form && (await ask(`${flowPath}/keys`, new URLSearchParams([...new FormData(form)] as [string, string][])));
  const keys = answer?.ok ? html(await answer.text()) : undefined, key = keys?.querySelector("[data-new-key]")?.textContent?.trim();
  if (!key) {
    toast("The key was not created. Create one in the API tab.", "bad");
    throw new Error("no key");
  }
  const list = document.getElementById("flow-keys");
  if (list) { list.replaceWith(keys!); htmx.process(document.getElementById("flow-keys")!); }
  return key;
}

/** put replaces the placeholder in the command, which consists of pieces for its colors. */
function put(code: Element, key: string): void {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  for (let t = texts.nextNode(); t; t = texts.nextNode()) t.nodeValue = t.nodeValue!.replaceAll(placeholder, key);
}

/** wait asks for the calls of the flow until there is one, as long as the dialog is open. */
async function wait(): Promise<void> {
  let mark = "";
  while (dialog()?.querySelector("[data-first-call]")) {
    const r = await fetchPart(`${flowPath}/api/calls?mark=${encodeURIComponent(mark)}`);
    const list = r?.status === 200 ? html(await r.text()).querySelector<HTMLElement>("[data-mark]") ?? undefined : undefined;
    const run = list?.querySelector<HTMLElement>("a.row")?.title; // the ID of the latest
    if (run) return received(run);
    mark = list?.dataset.mark ?? mark;
    await new Promise((next) => setTimeout(next, interval));
  }
}

/** received shows the first call, on the canvas too. */
function received(run: string): void {
  const row = dialog()?.querySelector<HTMLElement>("[data-first-call]");
  if (!row) return;
  row.dataset.received = run;
  row.querySelector(".dot")!.replaceWith(icon("circle-check"));
  row.querySelector("b")!.textContent = "Your first call arrived";
  row.querySelector("p")!.textContent = "Close this to see the run on the canvas.";
  follow(run, true);
}

listen<{ first: boolean }>(document, "flow:published", ({ first }) => { if (first && !builder.dataset.replay) requestAnimationFrame(() => void wait()); });
if (dialog()) void wait(); // it was published before this part was loaded
