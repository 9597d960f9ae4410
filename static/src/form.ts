// The script of public forms and their results. Both work without it; it updates
// the result live and validates the form before it is sent.
import "./copy.ts";
import { el } from "./builder/dom.ts";
import "./press.ts";
import { say } from "./say.ts";

/** showFieldError shows an error below a field, or removes it when text is empty. */
function showFieldError(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  field.setCustomValidity(text);
  const id = `${field.id}-error`;
  let line = document.getElementById(id);
  if (!text) {
    line?.remove();
    field.removeAttribute("aria-invalid");
    return;
  }
  if (!line) {
    line = el("p", { id, class: "error" });
    field.after(line);
  }
  line.textContent = text;
  field.setAttribute("aria-invalid", "true");
}

/** checkJSON accepts plain text; text that starts like JSON must be valid JSON. */
function checkJSON(field: HTMLTextAreaElement): void {
  const text = field.value.trim();
  let error = "";
  if (/^[[{"]/.test(text)) {
    try {
      JSON.parse(text);
    } catch {
      error = "This is not valid JSON. Check the brackets, quotes and commas.";
    }
  }
  showFieldError(field, error);
}

/** checkFile rejects a file that the server would refuse, before it is uploaded. */
function checkFile(field: HTMLInputElement): void {
  const most = Number(field.dataset.most);
  const large = [...(field.files ?? [])].some((file) => file.size > most);
  showFieldError(field, large ? `This file is too large. The limit is ${Math.round(most / 1048576)} MiB.` : "");
}

/** prepare validates a form as it is filled in, and shows that it is being sent. */
function prepare(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>("button:not([type=button])");
  form.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLTextAreaElement && target.dataset.json !== undefined) checkJSON(target);
    if (target instanceof HTMLInputElement && target.dataset.most) checkFile(target);
  });
  form.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLTextAreaElement && target.validity.customError) checkJSON(target);
  });
  form.addEventListener("submit", () => button?.classList.add("htmx-request"));
  // A page restored from the back/forward cache needs a new idempotency key.
  window.addEventListener("pageshow", (event) => {
    button?.classList.remove("htmx-request");
    const once = form.querySelector<HTMLInputElement>("[name=once]");
    if (event.persisted && once) once.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
  });
  form.querySelector<HTMLElement>("[aria-invalid]")?.focus();
}

// The text that each output has streamed so far. The page shows it again after each swap of
// the result, because the server renders only outputs that are complete.
const texts = new Map<string, string>();

/** showText shows the streamed text of an output that has no value yet. */
function showText(run: HTMLElement, output: string): void {
  const section = run.querySelector<HTMLElement>(`[data-output="${CSS.escape(output)}"]`);
  const text = section?.querySelector<HTMLElement>(":scope > .shape > .text"); // of an output that is still empty
  if (!section || !text) return;
  text.textContent = texts.get(output) ?? "";
  section.hidden = !texts.get(output);
}

/** replaceChanged replaces only elements that differ, so that a button does not disappear under the pointer. */
function replaceChanged(run: HTMLElement, html: string): void {
  const template = document.createElement("template");
  template.innerHTML = html;
  const next = [...template.content.children];
  next.forEach((part, i) => {
    const old = run.children[i];
    if (!old) run.append(part);
    else if (!old.isEqualNode(part)) old.replaceWith(part);
  });
  for (const gone of [...run.children].slice(next.length)) gone.remove();
}

const reloadAfter = 4000; // ms until the page is reloaded after the stream was rejected

/** follow updates the page of a running form. EventSource reconnects after a lost connection, but not after an error response, such as one of an expired session; then the page is reloaded. */
function follow(run: HTMLElement, path: string): void {
  const source = new EventSource(path);
  let words = "";
  source.addEventListener("run", (event) => {
    const message = JSON.parse(event.data) as { html: string };
    const held = run.contains(document.activeElement) && document.activeElement instanceof HTMLButtonElement;
    replaceChanged(run, message.html);
    for (const output of texts.keys()) showText(run, output);
    if (held) run.querySelector<HTMLElement>(".bar .btn")?.focus();
    const now = run.querySelector(".now, .note")?.textContent?.trim() ?? "";
    if (now !== words) say((words = now));
  });
  source.addEventListener("text", (event) => {
    const message = JSON.parse(event.data) as { output: string; text: string; reset: boolean };
    texts.set(message.output, (message.reset ? "" : (texts.get(message.output) ?? "")) + message.text);
    showText(run, message.output);
  });
  source.addEventListener("over", () => source.close());
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) window.setTimeout(() => location.reload(), reloadAfter);
  });
}

const form = document.querySelector<HTMLFormElement>("#ask");
if (form) prepare(form);
const run = document.getElementById("form-run");
if (run?.dataset.events) follow(run, run.dataset.events);
