// The list of problems and the marks on nodes. The response to each edit contains
// the list.
import { icon } from "../icon.ts";
import { listen } from "../listen.ts";
import { canvas, whenReady } from "./canvas.ts";
import { el, html } from "./dom.ts";

/** show replaces the list by the one that the server rendered. */
function show(text: string | undefined): void {
  if (!text) return;
  const list = document.getElementById("problems"), fresh = html(text).firstElementChild;
  if (!list || !fresh) return;
  const field = list.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.jump : undefined;
  list.replaceWith(fresh);
  if (field) fresh.querySelector<HTMLElement>(`[data-jump="${CSS.escape(field)}"]`)?.focus({ preventScroll: true });
  showProblemCount();
  mark();
}

/** problems returns how many problems the list has, without warnings. */
export const problems = (): number => document.querySelectorAll("#problems li:not([data-warning])").length;

/** showProblemCount updates the number on the tab. */
export function showProblemCount(): void {
  const n = problems(), badge = document.getElementById("problem-count");
  if (badge) badge.textContent = n ? String(n) : "";
}

/** mark shows on each node how many problems it has. */
function mark(): void {
  const of = new Map<string, string[]>();
  for (const a of document.querySelectorAll<HTMLElement>("#problems li:not([data-warning]) [data-jump]")) {
    const text = a.querySelector("span")?.textContent ?? "";
    of.set(a.dataset.jump!, [...(of.get(a.dataset.jump!) ?? []), text]);
  }
  for (const [id, article] of canvas.scene.elements) paint(article, of.get(id) ?? []);
}

/** paint adds, updates or removes the mark on a node. A mark with a key is the server's: a credential is missing. */
function paint(article: HTMLElement, problems: string[]): void {
  const old = article.querySelector<HTMLElement>("[data-trouble]"), title = problems.join("\n");
  if (!problems.length && old && !old.querySelector("use[href$='#key-round']")) return old.remove();
  if (!problems.length || old?.title === title) return;
  if (old) { old.title = title; return; }
  const b = el("button", { type: "button", class: "node-mark bad nodrag", "data-trouble": "", title, tabindex: "-1" }, icon("triangle-alert"));
  b.append(el("span", { class: "unseen" }, `${problems.length} problem${problems.length === 1 ? "" : "s"}`));
  article.querySelector("header > [data-badge]")?.before(b);
}

listen<{ problems?: string }>(canvas, "canvas:acked canvas:remote", ({ problems }) => show(problems));
void whenReady.then(showProblemCount);
