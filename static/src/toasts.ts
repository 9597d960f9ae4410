// Toasts. The server requests one with the response header
//   HX-Trigger: {"toast": {"tone": "ok", "text": "Key revoked."}}
// or renders it into the page. Texts are set as text, never as HTML.
import { el } from "./builder/dom.ts";
import { icon } from "./icon.ts";
import { listen } from "./listen.ts";

export type Tone = "ok" | "bad" | "wait" | "info";

// How long a toast stays, in ms. An error stays until it is closed.
const stay: Record<Tone, number> = { ok: 4000, info: 6000, wait: 8000, bad: Infinity };
const icons: Record<Tone, string> = { ok: "circle-check", bad: "circle-alert", wait: "triangle-alert", info: "info" };

/** toast shows a toast; again adds a button, such as "Undo" or "Retry". */
export function toast(text: string, tone: Tone = "info", again?: { label: string; act: () => void }): void {
  const area = document.getElementById("toasts");
  if (!area) return;
  const element = el("div", { class: `toast ${tone}`, role: tone === "bad" ? "alert" : "status" }, icon(icons[tone]), el("p", {}, text));
  if (again) element.append(button(again.label, () => (element.remove(), again.act())));
  element.append(closer(element));
  area.append(element);
  removeAfter(element, stay[tone]);
}

function button(label: string, act: () => void): HTMLButtonElement {
  const b = el("button", { type: "button", class: "btn quiet small" }, label);
  b.addEventListener("click", act);
  return b;
}

/** closer returns the button that closes a toast. */
function closer(element: HTMLElement): HTMLButtonElement {
  const b = button("", () => element.remove());
  b.classList.add("only");
  b.setAttribute("aria-label", "Close");
  b.append(icon("x"));
  return b;
}

// removeAfter removes a toast after a while, but not while it is hovered or focused.
function removeAfter(element: HTMLElement, after: number): void {
  if (!Number.isFinite(after)) return;
  window.setTimeout(() => {
    if (element.matches(":hover, :focus-within")) removeAfter(element, 1000);
    else element.remove();
  }, after);
}

function isTone(tone: unknown): tone is Tone {
  return typeof tone === "string" && tone in stay;
}

listen<{ text?: string; tone?: string } | null>(document, "toast", (detail) => {
  if (detail?.text) toast(detail.text, isTone(detail.tone) ? detail.tone : "info");
});

listen<{ error?: unknown } | null>(document, "htmx:error", (detail) => {
  const error = detail?.error;
  // fetch throws a TypeError when there is no response.
  if (error instanceof TypeError && /fetch|network|load failed/i.test(error.message)) {
    toast("Can't reach Sluice. Check your connection and try again. What you typed is kept.", "bad");
  }
});

// Responses of 500 and above are not swapped into the page, see htmx-config.
listen<{ ctx?: { response?: { status?: number } } } | null>(document, "htmx:response:error", (detail) => {
  if ((detail?.ctx?.response?.status ?? 0) >= 500) toast("Something went wrong on the server. Saved work is safe. Try again.", "bad");
});

for (const element of document.querySelectorAll<HTMLElement>("#toasts > .toast")) {
  element.append(closer(element));
  removeAfter(element, element.classList.contains("bad") ? Infinity : stay.info);
}
