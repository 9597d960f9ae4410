// Reads the controls of a field as a value of the draft, and writes them.
// flow/fields_form.go reads the same controls when there is no script.

import { span } from "../canvas/merge.ts";
import { parseJSON, parseNumber, parseRetry, type Reading } from "./parse.ts";

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** part returns a control of a field by the first part of its name: text, kept or name. */
export function part(field: ParentNode, name: string): Control | null { return field.querySelector<Control>(`[name^="${name}."]`); }

const text = (field: ParentNode): string => { const c = part(field, "text"); return c && !(c instanceof HTMLInputElement && c.type === "checkbox" && !c.checked) ? c.value : ""; };
const control = (field: ParentNode): Control => field.querySelector<Control>("input:not([type=hidden], [type=range], [data-required]), textarea, select")!;
const some = (s: string): Reading => (s === "" ? {} : { value: s });

/** read returns the value of a field. */
export function read(field: HTMLElement): Reading {
  switch (field.dataset.value) {
    case "number": return parseNumber(field.dataset.put ? control(field).value : text(field), false);
    case "integer": return parseNumber(text(field), true);
    case "boolean": return boolean(control(field));
    case "select": return parsed((control(field) as HTMLSelectElement).selectedOptions[0]?.dataset.json ?? "");
    case "list": return list(field);
    case "map": return map(field);
    case "json": return parseJSON(text(field));
    case "secret": return parsed(part(field, "kept")!.value);
    case "file": return some(text(field).trim()).value ? some(text(field).trim()) : parsed(part(field, "kept")!.value);
    case "model": case "type": return some(text(field).trim());
    case "flag": return (control(field) as HTMLInputElement).checked ? { value: true } : {};
    case "retry": return retry(field);
    case "tool": return tool(field);
    case "on_error": return onError(field);
  }
  return some(field.dataset.put ? control(field).value : text(field));
}

function parsed(s: string): Reading { return s ? { value: JSON.parse(s) } : {}; }

/** boolean reads a checkbox, or a select with an empty option for "not set". */
function boolean(c: Control): Reading {
  if (c instanceof HTMLInputElement) return { value: c.checked };
  return c.value ? { value: c.value === "true" } : {};
}

/** rows returns the rows of a list or map, including the empty last one. */
export function rows(field: ParentNode): HTMLElement[] { return [...field.querySelectorAll<HTMLElement>("[data-row]")]; }

/** item returns the value of a row: its text, or else a value that is not shown as text, such as a file. */
function item(row: HTMLElement): unknown {
  const kept = part(row, "kept")?.value;
  return text(row) || (kept ? JSON.parse(kept) : undefined);
}

function list(field: HTMLElement): Reading {
  const items = [...field.querySelectorAll<HTMLElement>("[data-row], [data-choice]")].map(item).filter((v) => v !== undefined);
  return items.length ? { value: items } : {};
}

/** map reads rows with names. Names must be unique. */
function map(field: HTMLElement): Reading {
  const named: Record<string, unknown> = {};
  for (const [i, row] of rows(field).entries()) {
    const name = part(row, "name")!.value.trim(), value = item(row);
    if (!name && value !== undefined) return { error: `Row ${i + 1} has a value but no name.` };
    if (name in named) return { error: `The name “${name}” is used twice.` };
    if (name) named[name] = value ?? "";
  }
  return Object.keys(named).length ? { value: named } : {};
}

function retry(field: HTMLElement): Reading {
  const [a, b] = [...field.querySelectorAll("input")].map((i) => parseNumber(i.value, i.name === "retry.attempts"));
  return a!.error || b!.error ? { error: a!.error ?? b!.error } : parseRetry(a!.value as number | undefined, b!.value as number | undefined);
}

/** names reads names that are separated by commas. */
function names(text: string): Reading {
  const list = text.split(",").map((name) => name.trim()).filter(Boolean);
  return list.length ? { value: list } : {};
}

/** tool reads the setting of a tool; what has no control stays. Without any, the node is no tool. */
function tool(field: HTMLElement): Reading {
  const setting = JSON.parse(field.dataset.kept || "{}"), params: Record<string, { description?: string }> = setting.params ?? {};
  for (const c of field.querySelectorAll<Control>("[data-member]")) {
    const name = c.dataset.member!, { value, error } = name === "max_calls" ? parseNumber(c.value, true) : name === "editable" ? names(c.value) : some(c.value);
    if (error) return { error };
    if (value === undefined) delete setting[name];
    else setting[name] = value;
  }
  for (const c of field.querySelectorAll<Control>("[data-param]")) {
    const param = { ...params[c.dataset.param!], description: c.value };
    if (!c.value) delete (param as { description?: string }).description;
    if (Object.keys(param).length) params[c.dataset.param!] = param;
    else delete params[c.dataset.param!];
  }
  delete setting.params;
  if (Object.keys(params).length) setting.params = params;
  return Object.keys(setting).length ? { value: setting } : {};
}

/** onError reads what happens when the node fails: fail, an edge for errors, or values to continue with. */
function onError(field: HTMLElement): Reading {
  const choice = field.querySelector<HTMLSelectElement>("[name=on_error]")!.value, values: Record<string, unknown> = {};
  if (choice === "fail") return {};
  if (choice === "route") return { value: "route" };
  for (const port of field.querySelectorAll<HTMLElement>("[data-instead-of]")) {
    const r = read(port);
    if (r.error) return r;
    if (r.value !== undefined) values[port.dataset.insteadOf!.slice("continue.".length)] = r.value;
  }
  return { value: { continue: values } };
}

/** rewrite changes the text of a control and keeps the cursor where it is in the text. */
function rewrite(c: Control, text: string): void {
  const { from, to, text: put } = span(c.value, text), at = c === document.activeElement && !(c instanceof HTMLSelectElement) ? c.selectionStart : null;
  c.value = text;
  const next = at === null || at <= from ? at : Math.max(from, at + put.length - (to - from));
  if (next !== null) (c as HTMLInputElement).setSelectionRange(next, next);
}

/** write shows a value and reports whether it could; other fields must be rendered by the server. */
export function write(field: HTMLElement, value: unknown): boolean {
  const c = control(field), as = field.dataset.value!, shown = value === undefined ? "" : String(value);
  if (as === "flag") (c as HTMLInputElement).checked = value === true;
  else if (["text", "area", "number", "integer", "model", "type"].includes(as) && typeof value !== "object") { if (c.value !== shown) rewrite(c, shown); }
  else return false;
  return true;
}
