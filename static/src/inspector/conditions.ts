// Conditions as rows of field, comparison and value. The rows are a view of the
// expression in the text field beside them: they write it and read it back. Other
// expressions are edited as text. Below, the result for the value of the last run.
import { el } from "../builder/dom.ts";
import { readonly } from "../builder/canvas.ts";
import { icon } from "../icon.ts";
import { ask, nodePath } from "./ask.ts";
import { ops, parse, shown, shownList, takes, typed, typedList, write, writeRow, type Op, type Row } from "./cel.ts";
import { pane, section } from "./fields.ts";

type Path = { path: string; type: string; text: string };
type Answer = { given: boolean; paths: Path[]; results: { value: boolean; error?: string }[] };

const opsOf: Record<string, Op[]> = {
  text: ["==", "!=", "contains", "!contains", "startsWith", "endsWith", "matches", "in", "!in", "empty", "!empty", "size>", "size<", "has", "!has"],
  number: ["==", "!=", ">", ">=", "<", "<=", "in", "!in", "has", "!has"],
  boolean: ["==", "!=", "has", "!has"],
  list: ["includes", "!includes", "empty", "!empty", "size>", "size<", "has", "!has"],
};

/** Sketch is a row as typed; the text of its value may still be empty. */
type Sketch = { path: string; op: Op; text: string };

const editors = new WeakMap<HTMLElement, Condition>();
const asText = new Set<string>(); // conditions that the user edits as text
let seen: { node: string; paths: Path[] } = { node: "", paths: [] }; // of the last run

/** Condition is the editor of one expression. */
class Condition {
  private join: "&&" | "||" = "&&";
  private rows: Sketch[] = [];
  private asking: AbortController | undefined;
  private timer = 0;
  private readonly input: HTMLInputElement;
  private readonly mode = el("div", { class: "ins-seg", role: "group", "aria-label": "Edit as" });
  private readonly list = el("div", { class: "cond-rows" });
  private readonly said = el("p", { class: "cond-said", role: "status" });
  private readonly key: string;

  constructor(private readonly root: HTMLElement) {
    this.input = root.querySelector<HTMLInputElement>("input[name^='text.']")!;
    const field = root.closest<HTMLElement>("[data-key]")!, all = [...field.querySelectorAll("[data-condition]")];
    this.key = `${section()?.dataset.node} ${field.dataset.key} ${all.indexOf(root)}`;
    for (const old of [...root.children]) if (old !== this.input) old.remove(); // a copy of another row
    for (const [name, label] of [["rows", "Rows"], ["text", "Expression"]] as const) this.mode.append(el("button", { type: "button", "data-as": name }, label));
    this.mode.addEventListener("click", (e) => this.choose((e.target as HTMLElement).closest<HTMLElement>("[data-as]")?.dataset.as));
    this.input.addEventListener("input", (e) => { if (e.isTrusted) { asText.add(this.key); this.read(); this.testLater(); } });
    root.prepend(this.mode);
    root.append(this.list, this.said);
    this.read();
    this.testLater(0);
  }

  /** changed reports whether the expression is not the one that the rows wrote. */
  changed(): boolean { return !this.list.hidden && this.input.value !== this.source(); }

  /** read shows the expression: as rows if it can be read as such. */
  read(): void {
    const r = this.input.value.trim() ? parse(this.input.value) : { join: "&&" as const, rows: [] };
    this.mode.querySelector("[data-as=rows]")!.toggleAttribute("disabled", !r);
    this.mode.querySelector<HTMLElement>("[data-as=rows]")!.title = r ? "" : "This expression can only be edited as text.";
    const rows = !!r && !asText.has(this.key) && !readonly;
    for (const b of this.mode.children) b.setAttribute("aria-pressed", String((b.getAttribute("data-as") === "rows") === rows));
    this.input.hidden = rows;
    this.list.hidden = !rows;
    if (!r) return;
    this.join = r.join;
    this.rows = r.rows.map((row) => this.sketch(row));
    if (!this.rows.length) this.rows.push({ path: "value", op: "==", text: "" });
    if (rows) this.draw();
  }

  private choose(as: string | undefined): void {
    if (!as) return;
    if (as === "text") asText.add(this.key);
    else asText.delete(this.key);
    this.read();
    (as === "text" ? this.input : this.list.querySelector<HTMLElement>("select, input"))?.focus();
    this.testLater(0);
  }

  private sketch({ path, op, values }: Row): Sketch {
    const kind = takes(op), type = typeOf(path);
    return { path, op, text: kind === "none" ? "" : kind === "list" ? shownList(values, type) : shown(values[0]!, kind, type) };
  }

  private row({ path, op, text }: Sketch): Row | undefined {
    const kind = takes(op), type = typeOf(path);
    if (kind === "none") return { path, op, values: [] };
    if (text === "" && op !== "==" && op !== "!=") return undefined; // not finished
    return { path, op, values: kind === "list" ? typedList(text, type) : [typed(text, kind, type)] };
  }

  /** source returns the expression of the finished rows. */
  private source(): string {
    if (this.rows.length === 1 && this.rows[0]!.text === "" && !this.input.value && takes(this.rows[0]!.op) !== "none") return ""; // untouched
    const rows = this.rows.map((r) => this.row(r)).filter((r) => r !== undefined);
    return rows.length ? write({ join: this.join, rows }) : "";
  }

  /** save writes the rows to the expression, which the inspector saves. */
  private save(): void {
    const source = this.source();
    if (source !== this.input.value) {
      this.input.value = source;
      this.input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    this.testLater();
  }

  // Drawing.

  private draw(): void {
    const label = this.input.labels?.[0]?.textContent?.trim() || this.input.getAttribute("aria-label") || "Condition";
    const parts = this.rows.flatMap((r, i) => [i ? this.joins(i) : undefined, this.drawRow(r, i, label)]);
    const add = el("button", { type: "button", class: "btn quiet small cond-add" }, icon("plus"), "Add row");
    add.addEventListener("click", () => {
      this.rows.push({ path: this.rows.at(-1)?.path ?? "value", op: this.rows.at(-1)?.op ?? "==", text: "" });
      this.draw();
      this.list.querySelector<HTMLElement>(".cond-row:last-of-type select")?.focus();
    });
    this.list.replaceChildren(...parts.filter((p) => p !== undefined), add);
  }

  private joins(i: number): HTMLElement {
    if (i > 1) return el("span", { class: "cond-join" }, this.join === "&&" ? "and" : "or");
    const s = select([["&&", "and"], ["||", "or"]], this.join, "Join rows by");
    s.classList.add("cond-join");
    s.addEventListener("change", () => { this.join = s.value as "&&" | "||"; this.draw(); this.save(); this.list.querySelector<HTMLElement>("select.cond-join")?.focus(); });
    return s;
  }

  private drawRow(r: Sketch, i: number, label: string): HTMLElement {
    const name = `${label}, row ${i + 1}`, kind = takes(r.op), type = typeOf(r.path);
    const path = this.pathControl(r, name), known = opsOf[type ?? ""] ?? (Object.keys(ops) as Op[]);
    const op = select((known.includes(r.op) ? known : [...known, r.op]).map((o) => [o, ops[o][0]]), r.op, `${name}: comparison`);
    op.addEventListener("change", () => { r.op = op.value as Op; this.redraw(i, op.getAttribute("aria-label")!); });
    const value = kind === "none" ? undefined : el("input", { class: "input cond-value", "aria-label": `${name}: value`, autocomplete: "off", inputmode: kind === "number" || type === "number" ? "decimal" : undefined, placeholder: kind === "list" ? "a, b, c" : "Value" });
    if (value) { value.value = r.text; value.addEventListener("input", () => { r.text = value.value; this.save(); }); }
    const remove = el("button", { type: "button", class: "btn quiet small only", title: "Remove row", "aria-label": `Remove row ${i + 1}` }, icon("trash-2"));
    remove.hidden = this.rows.length === 1;
    remove.addEventListener("click", () => { this.rows.splice(i, 1); this.draw(); this.save(); this.list.querySelectorAll<HTMLElement>("button[title]")[Math.max(i - 1, 0)]?.focus(); });
    return el("div", { class: "cond-row" }, path, op, remove, value, el("p", { class: "cond-saw" }));
  }

  /** pathControl chooses a field of the value of the last run, or takes another name. */
  private pathControl(r: Sketch, name: string): HTMLElement {
    const paths = seen.paths.map((p) => p.path);
    const s = select([...(paths.includes(r.path) ? paths : [r.path, ...paths]).map((p): [string, string] => [p, nameOf(p)]), ["", "Other field…"]], r.path, `${name}: field`);
    s.addEventListener("change", () => {
      if (s.value) { r.path = s.value; this.redraw(s.closest(".cond-row")!, s.getAttribute("aria-label")!); return; }
      const other = el("input", { class: "input mono", value: r.path, "aria-label": s.getAttribute("aria-label")!, autocomplete: "off", spellcheck: "false" });
      other.addEventListener("change", () => {
        const path = parse(`${other.value.trim()} == 0`)?.rows[0]?.path ?? parse(`value.${other.value.trim()} == 0`)?.rows[0]?.path;
        other.setCustomValidity(path ? "" : "Enter a field such as value.name.");
        if (!path) { other.reportValidity(); return; }
        r.path = path;
        this.redraw(other.closest(".cond-row")!, other.getAttribute("aria-label")!);
      });
      s.replaceWith(other);
      other.focus();
      other.select();
    });
    return s;
  }

  /** redraw draws a row again after its field or comparison changed, and keeps the focus. */
  private redraw(at: number | Element, focused: string): void {
    const all = [...this.list.querySelectorAll(".cond-row")], i = typeof at === "number" ? at : all.indexOf(at), label = focused.replace(/, row \d+:.*$/, "");
    const fresh = this.drawRow(this.rows[i]!, i, label);
    all[i]?.replaceWith(fresh);
    fresh.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    this.save();
  }

  // Testing with the value of the last run.

  testLater(pause = 350): void {
    clearTimeout(this.timer);
    if (!readonly) this.timer = window.setTimeout(() => void this.test(), pause);
  }

  private async test(): Promise<void> {
    const node = section()?.dataset.node;
    if (!node || !this.root.isConnected) return;
    this.asking?.abort();
    const stop = (this.asking = new AbortController()), rows = this.list.hidden ? [] : this.rows.map((r) => this.row(r));
    const body = new URLSearchParams([this.input.value, ...rows.map((r) => (r ? writeRow(r) : ""))].map((s) => ["expression", s]));
    const r = await ask(`${nodePath(node)}/conditions`, { method: "POST", body, signal: stop.signal }), answer = r?.ok ? ((await r.json().catch(() => undefined)) as Answer | undefined) : undefined;
    if (!answer || stop.signal.aborted) return;
    const fresh = seen.node !== node || JSON.stringify(seen.paths) !== JSON.stringify(answer.paths);
    seen = { node, paths: answer.paths };
    if (fresh && !this.list.hidden && !this.list.contains(document.activeElement)) this.read(); // with the fields of the value
    this.show(answer);
  }

  private show({ given, results: [whole, ...rows] }: Answer): void {
    for (const [i, saw] of [...this.list.querySelectorAll(".cond-saw")].entries()) {
      const at = seen.paths.find((p) => p.path === this.rows[i]?.path), r = rows[i];
      if (!given || !r || !this.row(this.rows[i]!)) saw.replaceChildren();
      else saw.replaceChildren(icon(r.error ? "triangle-alert" : r.value ? "check" : "ban"), el("span", {}, el("span", { class: "unseen" }, r.error ? "" : `${r.value}: `), r.error ?? at?.text ?? ""));
    }
    if (!this.input.value || whole?.error && !given) return this.said.replaceChildren();
    if (!given) return this.said.replaceChildren("Run the flow once to see the result here.");
    if (whole?.error) return this.said.replaceChildren("Last run: ", el("b", {}, "error"), el("span", {}, whole.error));
    const decides = this.join === "&&" ? rows.findIndex((r) => !r.value) : rows.findIndex((r) => r.value);
    const value = seen.paths[0]?.text ?? "", why = rows.length > 1 && decides >= 0 ? `Row ${decides + 1} is ${rows[decides]!.value}.` : rows.length ? "" : value;
    this.said.replaceChildren("Last run: ", el("b", {}, String(whole?.value)), why ? el("span", {}, why) : "");
  }
}

const typeOf = (path: string): string | undefined => (seen.node === section()?.dataset.node ? seen.paths.find((p) => p.path === path)?.type : undefined);
const nameOf = (path: string): string => (path.startsWith("value.") ? path.slice(6) : path);

function select(options: (readonly [string, string])[], value: string, label: string): HTMLSelectElement {
  const s = el("select", { class: "select", "aria-label": label }, ...options.map(([v, text]) => el("option", { value: v }, text)));
  s.value = value;
  return s;
}

/** enhance adds editors to the conditions that the server rendered. */
function enhance(): void {
  for (const root of pane.querySelectorAll<HTMLElement>(".ins[data-node] [data-condition]")) if (!editors.has(root)) editors.set(root, new Condition(root));
}

pane.addEventListener("ins:wrote", (e) => {
  for (const root of (e.target as Element).querySelectorAll<HTMLElement>("[data-condition]")) {
    const c = editors.get(root);
    if (c?.changed()) c.read();
    c?.testLater();
  }
});
new MutationObserver(enhance).observe(pane, { childList: true, subtree: true });
enhance();
