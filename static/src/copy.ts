// <button data-copy="text"> copies the text; data-copy-from="id" copies the text
// or value of that element.
import { onClick } from "./listen.ts";
import { say } from "./say.ts";
import { toast } from "./toasts.ts";

const shown = 1600; // ms that the check mark is shown

/** textOf returns the text that a button copies. */
function textOf(button: HTMLElement): string {
  const from = button.dataset.copyFrom;
  if (!from) return button.dataset.copy ?? "";
  const element = document.getElementById(from);
  return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.value : (element?.textContent ?? "");
}

/** copied copies a text, once it is available, and confirms on the button. */
export async function copied(button: HTMLElement, text: string | Promise<string>): Promise<void> {
  const wanted = await Promise.resolve(text).catch(() => undefined); // the function that fetches it shows the error
  if (wanted === undefined) return;
  try {
    await navigator.clipboard.writeText(wanted);
  } catch {
    // The clipboard is available on https and localhost only.
    toast("Can't copy from this page. Select the text and press Ctrl+C.", "wait");
    return;
  }
  button.dataset.copied = "";
  say("Copied");
  window.setTimeout(() => delete button.dataset.copied, shown);
}

onClick(document, "[data-copy], [data-copy-from]", (button) => void copied(button, textOf(button)));
