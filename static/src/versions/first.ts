// The steps after the first publish: creates a key, inserts it into the curl command,
// waits for the first call and shows it on the canvas.
import htmx from "htmx.org/dist/htmx.esm.js";
import { builder, flowPath } from "../builder/canvas.ts";
import { el, html } from "../builder/dom.ts";
import { fetchPart } from "../builder/requests.ts";
import { copied } from "../copy.ts";
import { icon } from "../icon.ts";
import { listen, onClick } from "../listen.ts";
import { ask } from "../running/ask.ts";
import { subscribe, type Shown, type StepEvent } from "../running/events.ts";
import { follow } from "../running/stream.ts";
import { toast } from "../toasts.ts";

const interval = 800; // ms between polls for the first call
const placeholder = "slu_YOUR_KEY";
let created = ""; // the key, while the dialog is open; it is shown only once

const dialog = (): HTMLDialogElement | null => document.querySelector<HTMLDialogElement>("#publish-dialog[open]");

onClick<HTMLButtonElement>(document, "[data-key-and-copy]", async (button) => {
  const code = document.getElementById("first-command")!;
  button.disabled = true;
  const newKey = code.textContent!.includes(placeholder) ? makeKey() : Promise.resolve(undefined);
  await copied(button, newKey.then((key) => {
    if (key) insertKey(code, (created = key));
    return code.textContent!.trim();
  }));
  button.disabled = false;
  const note = document.querySelector("[data-key-note]");
  if (!code.textContent!.includes(placeholder) && note) note.textContent = "Copied. The key is shown only now; it works for this flow only.";
});

// Shows the sample code in another language, with the key if one was created.
onClick<HTMLButtonElement>(document, "[data-first-language]", async (button) => {
  const r = await fetchPart(button.dataset.firstLanguage!), code = document.getElementById("first-command");
  if (!r?.ok || !code) return;
  code.replaceChildren(html(await r.text()));
  if (created) insertKey(code, created);
  for (const b of button.parentElement!.children) b.toggleAttribute("aria-current", false);
  button.setAttribute("aria-current", "true");
});

// A test call from the browser, for users without a terminal. It uses the API too.
document.addEventListener("submit", async (e) => {
  const form = (e.target as Element).closest<HTMLFormElement>("[data-test-call]");
  if (!form) return;
  e.preventDefault();
  form.querySelector("button")!.disabled = true;
  const response = await ask(form.action, new URLSearchParams([...new FormData(form)] as [string, string][]));
  const run = /run_[a-z0-9]+/.exec(response?.headers.get("HX-Trigger") ?? "")?.[0];
  if (run) return showFirstCall(run, "The test call succeeded");
  form.querySelector("button")!.disabled = false;
  toast("The test call was rejected. Try it in the API tab.", "bad");
});

// The picture of the flow shows the steps of that call.
subscribe<StepEvent[]>("steps", (steps) => {
  for (const s of steps) dialog()?.querySelector(`[data-step="${CSS.escape(s.node)}"]`)?.setAttribute("data-state", s.state);
});

/** makeKey creates a key for this flow with the default name and permissions of the form. It throws if that fails. */
async function makeKey(): Promise<string> {
  const page = await fetchPart(`${flowPath}/keys`), form = page?.ok ? html(await page.text()).querySelector("form") : null;
  const response = form && (await ask(`${flowPath}/keys`, new URLSearchParams([...new FormData(form)] as [string, string][])));
  const keys = response?.ok ? html(await response.text()) : undefined, key = keys?.querySelector("[data-new-key]")?.textContent?.trim();
  if (!key) {
    toast("The key was not created. Create one in the API tab.", "bad");
    throw new Error("no key");
  }
  const list = document.getElementById("flow-keys");
  if (list) { list.replaceWith(keys!); htmx.process(document.getElementById("flow-keys")!); }
  return key;
}

/** insertKey replaces the placeholder in the command. Syntax highlighting splits the text into several nodes. */
function insertKey(code: Element, key: string): void {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  for (let t = texts.nextNode(); t; t = texts.nextNode()) t.nodeValue = t.nodeValue!.replaceAll(placeholder, key);
}

/** pollFirstCall polls the calls of the flow until there is one or the dialog is closed. */
async function pollFirstCall(): Promise<void> {
  let mark = "";
  while (dialog()?.querySelector("[data-first-call]")) {
    const r = await fetchPart(`${flowPath}/api/calls?mark=${encodeURIComponent(mark)}`);
    const list = r?.status === 200 ? html(await r.text()).querySelector<HTMLElement>("[data-mark]") ?? undefined : undefined;
    const run = list?.querySelector<HTMLElement>("a.row")?.title; // the ID of the latest run
    if (run) return showFirstCall(run);
    mark = list?.dataset.mark ?? mark;
    await new Promise((next) => setTimeout(next, interval));
  }
}

/** showFirstCall shows the first call in the dialog and follows its run on the canvas. */
function showFirstCall(run: string, title = "Your first call arrived"): void {
  const row = dialog()?.querySelector<HTMLElement>("[data-first-call]");
  if (!row || row.dataset.received) return;
  row.dataset.received = run;
  row.querySelector(".dot")!.replaceWith(icon("circle-check"));
  row.querySelector("b")!.textContent = title;
  row.querySelector("p")!.textContent = "Running…";
  row.querySelector("form")?.remove();
  row.append(el("a", { class: "link", href: `/runs/${run}`, target: "_blank" }, "View run"));
  follow(run, true);
}

subscribe<Shown>("over", async ({ id }) => {
  const text = dialog()?.querySelector(`[data-first-call][data-received="${CSS.escape(id)}"] p`);
  if (text) text.textContent = await resultText(id);
});

/** resultText returns one line for a finished run: its error, its outputs, or why it has none. */
async function resultText(run: string): Promise<string> {
  const r = await fetchPart(`${flowPath}/runs/${run}/result`), pane = r?.ok ? html(await r.text()) : undefined;
  const outputs = [...(pane?.querySelectorAll(".result-output") ?? [])].map((o) => `${o.getAttribute("aria-label")}: ${o.querySelector(".shape")?.textContent?.trim() ?? ""}`);
  const error = pane?.querySelector(".result-error-note .note p, .result-error-note .note")?.textContent?.trim();
  return error || outputs.join(" · ") || pane?.querySelector(".pane-empty")?.textContent?.trim() || "Close this to see the run on the canvas.";
}

listen<{ first: boolean }>(document, "flow:published", ({ first }) => { if (first && !builder.dataset.replay) requestAnimationFrame(() => void pollFirstCall()); });
if (dialog()) void pollFirstCall(); // the flow was published before this script was loaded
