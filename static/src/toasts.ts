// Short messages in the corner. A server asks for one with the response header
//   HX-Trigger: {"toast": {"tone": "ok", "text": "Key revoked."}}
// or puts it into the page. Texts are set as text, never as HTML.
import { icon } from "./icon.ts";

export type Tone = "ok" | "bad" | "wait" | "info";

// How long a toast stays, in ms. A failure stays until it is closed: nobody
// should have to read quickly what went wrong.
const stay: Record<Tone, number> = { ok: 4000, info: 6000, wait: 8000, bad: Infinity };
const signs: Record<Tone, string> = { ok: "circle-check", bad: "circle-alert", wait: "triangle-alert", info: "info" };

/** Shows a toast; `again` is what a button "Undo" or "Retry" does. */
export function toast(text: string, tone: Tone = "info", again?: { label: string; act: () => void }): void {
  const area = document.getElementById("toasts");
  if (!area) return;
  const element = document.createElement("div");
  element.className = `toast ${tone}`;
  element.setAttribute("role", tone === "bad" ? "alert" : "status");
  const words = document.createElement("p");
  words.textContent = text;
  element.append(icon(signs[tone]), words);
  if (again) element.append(button(again.label, () => (element.remove(), again.act())));
  element.append(closer(element));
  area.append(element);
  leave(element, stay[tone]);
}

function button(label: string, act: () => void): HTMLButtonElement {
  const b = document.createElement("button");
  b.type = "button";
  b.className = "btn quiet small";
  b.textContent = label;
  b.addEventListener("click", act);
  return b;
}

function closer(element: HTMLElement): HTMLButtonElement {
  const b = button("", () => element.remove());
  b.classList.add("only");
  b.setAttribute("aria-label", "Close");
  b.append(icon("x"));
  return b;
}

// leave removes a toast later, but not while it is pointed at or focused.
function leave(element: HTMLElement, after: number): void {
  if (!Number.isFinite(after)) return;
  window.setTimeout(() => {
    if (element.matches(":hover, :focus-within")) leave(element, 1000);
    else element.remove();
  }, after);
}

function isTone(tone: unknown): tone is Tone {
  return typeof tone === "string" && tone in stay;
}

document.addEventListener("toast", (event) => {
  const { text, tone } = (event as CustomEvent<{ text?: string; tone?: string }>).detail ?? {};
  if (text) toast(text, isTone(tone) ? tone : "info");
});

document.addEventListener("htmx:error", (event) => {
  const { error } = (event as CustomEvent<{ error?: unknown }>).detail ?? {};
  // A TypeError is how fetch says that nothing answered.
  if (error instanceof TypeError && /fetch|network|load failed/i.test(error.message)) {
    toast("Can't reach Sluice. Check your connection and try again. What you typed is kept.", "bad");
  }
});

// What broke on the server is not swapped into the page, see htmx-config.
document.addEventListener("htmx:response:error", (event) => {
  const { ctx } = (event as CustomEvent<{ ctx?: { response?: { status?: number } } }>).detail ?? {};
  if ((ctx?.response?.status ?? 0) >= 500) toast("Something went wrong on the server. Saved work is safe. Try again.", "bad");
});

for (const element of document.querySelectorAll<HTMLElement>("#toasts > .toast")) {
  element.append(closer(element));
  leave(element, element.classList.contains("bad") ? Infinity : stay.info);
}
