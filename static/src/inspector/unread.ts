// Texts that cannot be parsed, such as unfinished JSON. They are not part of the draft,
// so this module keeps them: it restores them when their node is shown again, lists them
// with the problems, and warns before the page unloads.
import { canvas } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { showUnread } from "../builder/state.ts";
import { showProblemCount } from "../builder/problems.ts";
import { icon } from "../icon.ts";
import { listen } from "../listen.ts";

type Unread = { node: string; key: string; text: string; error: string };
const all = new Map<string, Unread>();

/** textControl returns the control of a field that has one text; lists and maps have several. */
const textControl = (field: HTMLElement) => {
  const list = field.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("textarea, input:not([type=hidden], [type=range], [type=checkbox], [type=file], [type=password])");
  return list.length === 1 ? list[0] : undefined;
};

/** keep stores the text of a field that could not be parsed; without an error it drops the stored text. */
export function keep(field: HTMLElement, error: string | undefined): void {
  const node = field.closest<HTMLElement>("[data-node]")!.dataset.node!, key = field.dataset.key!, id = `${node} ${key}`, c = textControl(field);
  if (!error || !c) { if (all.delete(id)) list(); return; }
  all.set(id, { node, key, text: c.value, error });
  list();
}

/** restore writes the stored texts into the fields of the shown node and returns these fields with their errors. */
export function restore(section: HTMLElement): [field: HTMLElement, error: string][] {
  const found: [HTMLElement, string][] = [];
  for (const u of all.values()) {
    const field = u.node === section.dataset.node ? section.querySelector<HTMLElement>(`[data-key="${CSS.escape(u.key)}"]`) : null, c = field && textControl(field);
    if (!c || field!.hasAttribute("data-unread")) continue;
    c.value = u.text;
    found.push([field!, u.error]);
  }
  return found;
}

/** list adds the texts to the list of problems from the server. */
function list(): void {
  const problems = document.getElementById("problems");
  for (const old of document.querySelectorAll("#problems [data-unread-of]")) old.remove();
  for (const [id, u] of all) if (!canvas.draft.nodes.has(u.node)) all.delete(id);
  if (problems && all.size) {
    const ul = problems.querySelector("ul") ?? problems.appendChild(el("ul"));
    for (const u of all.values()) ul.append(el("li", { "data-unread-of": u.node }, el("a", { class: "problem", href: "#", "data-jump": u.node, "data-field": u.key.replace(/^(set|put):/, "") }, icon("triangle-alert"), el("b", {}, canvas.scene.title(u.node)), el("span", {}, `Not saved: ${u.error}`))));
  }
  problems?.querySelector(".fine")?.toggleAttribute("hidden", all.size > 0);
  showProblemCount();
  showUnread(all.size);
}

listen(canvas, "canvas:acked canvas:remote canvas:ops", () => { if (all.size) list(); });
addEventListener("beforeunload", (e) => { if (all.size) e.preventDefault(); }); // the browser asks for confirmation
