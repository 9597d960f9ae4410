// The cases of a switch. Those by condition have names, which name their ports, in the
// rows of the conditions. Edges stay at their cases, however these change.
import type { FlowNode } from "../canvas/model.ts";
import type { Op } from "../canvas/ops.ts";
import { canvas, readonly } from "../builder/canvas.ts";
import { el } from "../builder/dom.ts";
import { icon } from "../icon.ts";
import { casesOf, follow } from "./case_ports.ts";
import { parse, write } from "./cel.ts";
import { alongside, pane } from "./fields.ts";
import { same } from "./parse.ts";
import { part, rows } from "./values.ts";

const nameOf = (row: ParentNode): HTMLInputElement | null => row.querySelector<HTMLInputElement>("[data-case-name]");
const set = (node: string, field: string, value: unknown): Op => (value === undefined ? { op: "set", node, field } : { op: "set", node, field, value });

/** names returns the names of the cases, without those at the end that have none. */
function names(field: HTMLElement): string[] | undefined {
  const typed = rows(field).filter((r) => part(r, "text")?.value).map((r) => nameOf(r)?.value.trim() ?? "");
  const last = typed.findLastIndex(Boolean);
  return last < 0 ? undefined : typed.slice(0, last + 1).map((name, i) => name || `case_${i + 1}`);
}

alongside.push((field, n, value) => {
  if (n.kind !== "switch") return [];
  if (field.dataset.set === "by") return convert(n, value === "expression");
  if (field.dataset.set !== "cases") return [];
  const after: Record<string, unknown> = { ...n.config, cases: value }, ops: Op[] = [];
  if (n.config.by === "expression") {
    after.names = names(field);
    if (!same(n.config.names, after.names)) ops.push(set(n.id, "names", after.names));
  }
  return [...ops, ...follow(canvas.draft.edges, n.id, n.config, after, field.hasAttribute("data-removing"))];
});

/** convert writes texts as conditions with names, or conditions that compare with a text as texts. Their ports stay. */
function convert(n: FlowNode, byCondition: boolean): Op[] {
  const cases = casesOf(n.config);
  if (!cases.length || byCondition === (n.config.by === "expression") || canvas.draft.edgesInto(`${n.id}.on`).length) return [];
  if (byCondition) {
    const asConditions = cases.map(({ text }) => write({ join: "&&", rows: [{ path: "value", op: "==", values: [{ type: "text", text }] }] }));
    return [set(n.id, "cases", asConditions), set(n.id, "names", cases.map((c) => c.text))];
  }
  const texts = cases.map(({ text }) => {
    const r = parse(text), row = r?.rows.length === 1 ? r.rows[0]! : undefined;
    return row?.path === "value" && row.op === "==" && row.values[0]!.type === "text" ? row.values[0]!.text : undefined;
  });
  if (texts.some((t) => !t)) return [];
  const after = { cases: texts };
  return [set(n.id, "cases", texts), set(n.id, "names", undefined), ...follow(canvas.draft.edges, n.id, n.config, after, false)];
}

/** enhance numbers the placeholders of names, and shows a button instead of the empty last case. */
function enhance(): void {
  for (const field of pane.querySelectorAll<HTMLElement>("[data-set=cases]:has(.ins-case)")) {
    const all = rows(field);
    for (const [i, row] of all.entries()) {
      const name = nameOf(row);
      if (name && name.placeholder !== `case_${i + 1}`) name.placeholder = `case_${i + 1}`;
      const blank = !readonly && i === all.length - 1 && !row.hasAttribute("data-started") && !name?.value && !part(row, "text")?.value;
      if (blank === row.hasAttribute("data-blank")) continue;
      row.toggleAttribute("data-blank", blank);
      row.querySelector(":scope > .case-add")?.remove();
      if (blank) row.prepend(button(row));
    }
  }
}

function button(row: HTMLElement): HTMLElement {
  const b = el("button", { type: "button", class: "btn quiet small case-add" }, icon("plus"), "Add case");
  b.addEventListener("click", () => {
    row.toggleAttribute("data-started", true);
    enhance();
    nameOf(row)?.focus();
  });
  return b;
}

new MutationObserver(enhance).observe(pane, { childList: true, subtree: true });
enhance();
