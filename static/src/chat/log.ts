// The turns of a conversation as elements.
import { el } from "../builder/dom.ts";
import { html } from "../builder/dom.ts";
import { icon } from "../icon.ts";
import { picture } from "./composer.ts";
import { showMarkdown } from "./render.ts";
import type { Turn } from "./turns.ts";

/** turnElement returns the element of a turn. showTurn fills it, and again after changes. */
export function turnElement(turn: Turn): HTMLElement {
  const user = turn.role === "user";
  const element = el("article", { class: `turn ${turn.role}` }, el("h2", { class: "unseen" }, user ? "You said" : "Answer"), el("div", { class: "turn-text" }));
  if (user) {
    const body = element.lastElementChild as HTMLElement;
    body.before(el("div", { class: "turn-pictures" }, ...(turn.pictures ?? []).map(picture)));
    body.textContent = turn.text;
    body.hidden = !turn.text;
    if (turn.lost) element.append(el("p", { class: "turn-hint" }, turn.lost === 1 ? "The picture is no longer available." : "The pictures are no longer available."));
  } else {
    element.append(el("p", { class: "turn-hint" }), el("div", { class: "turn-actions" }));
  }
  return element;
}

/** showTurn shows the state of a reply. busy is what to show before its text begins, or "" once it has ended. */
export function showTurn(element: HTMLElement, turn: Turn, busy: string, last: boolean): void {
  const body = element.querySelector<HTMLElement>(".turn-text"), hint = element.querySelector<HTMLElement>(".turn-hint"), actions = element.querySelector<HTMLElement>(".turn-actions");
  if (!body || !hint || !actions) return;
  if (turn.html) body.replaceChildren(html(turn.html));
  else showMarkdown(body, turn.text);
  element.classList.toggle("busy", busy !== "");
  element.classList.toggle("wordless", !turn.text && !turn.html);
  element.setAttribute("aria-busy", String(busy !== ""));
  hint.textContent = turn.trouble ?? (turn.stopped ? "Stopped." : busy === "Working…" ? "" : busy);
  hint.hidden = hint.textContent === "";
  hint.classList.toggle("bad", turn.trouble !== undefined);
  actions.hidden = busy !== "";
  const again = turn.trouble ? el("button", { type: "button", class: "btn small", "data-again": "" }, icon("refresh-cw"), "Try again") : button("refresh-cw", "Regenerate", { "data-again": "" });
  actions.replaceChildren(...[turn.text && button("copy", "Copy", { class: "copy", "data-copy": turn.text }), last && again].filter((b): b is HTMLButtonElement => b instanceof HTMLElement));
}

function button(name: string, label: string, attributes: Record<string, string>): HTMLButtonElement {
  const signs = name === "copy" ? [mark("copy", "todo"), mark("check", "done")] : [icon(name)];
  return el("button", { type: "button", "aria-label": label, title: label, ...attributes, class: `btn quiet small only ${attributes.class ?? ""}` }, ...signs);
}

function mark(name: string, of: string): SVGElement {
  const svg = icon(name);
  svg.classList.add(of);
  return svg;
}
