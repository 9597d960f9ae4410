// What the controls of a field say, as the draft keeps it. flow/fields_form.go
// reads the same controls where there is no script.

/** Reading is a value, nothing, or why the controls cannot be read. */
export type Reading = { value?: unknown; error?: string };

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** part finds a control of a field by the part of its name: text, kept or name. */
export function part(field: ParentNode, name: string): Control | null { return field.querySelector<Control>(`[name^="${name}."]`); }

const text = (field: ParentNode): string => part(field, "text")?.value ?? "";
const control = (field: ParentNode): Control => field.querySelector<Control>("input:not([type=hidden], [type=range]), textarea, select")!;
const some = (s: string): Reading => (s === "" ? {} : { value: s });

/** read says what stands in a field. */
export function read(field: HTMLElement): Reading {
  switch (field.dataset.value) {
    case "number": return number(field.dataset.put ? control(field).value : text(field), false);
    case "integer": return number(text(field), true);
    case "boolean": return boolean(control(field));
    case "select": return parsed((control(field) as HTMLSelectElement).selectedOptions[0]?.dataset.json ?? "");
    case "list": return list(field);
    case "map": return map(field);
    case "json": return json(text(field));
    case "secret": return parsed(part(field, "kept")!.value);
    case "file": return some(text(field).trim()).value ? some(text(field).trim()) : parsed(part(field, "kept")!.value);
    case "model": case "type": return some(text(field).trim());
    case "flag": return (control(field) as HTMLInputElement).checked ? { value: true } : {};
    case "retry": return retry(field);
    case "on_error": return onError(field);
  }
  return some(field.dataset.put ? control(field).value : text(field));
}

function parsed(s: string): Reading { return s ? { value: JSON.parse(s) } : {}; }

function number(s: string, whole: boolean): Reading {
  s = s.trim().replace(/^\+/, "").replace(/^\./, "0.");
  if (!s) return {};
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(s)) return { error: `“${s}” is not a number. Write it with digits, such as 0.5.` };
  if (whole && !Number.isInteger(Number(s))) return { error: `${s} is not a whole number.` };
  return { value: Number(s) };
}

function boolean(c: Control): Reading {
  if (c instanceof HTMLInputElement) return { value: c.checked };
  return c.value ? { value: c.value === "true" } : {};
}

function json(s: string): Reading {
  if (!s.trim()) return {};
  try { return { value: JSON.parse(s) }; } catch (e) { return { error: `This is not JSON yet: ${reason(e as Error)}.` }; }
}

/** reason is the browser's own, without the text that it repeats. */
const reason = (e: Error): string => e.message.replace(/, (\.\.\.)?"[\s\S]*$/, "").replace(/^[A-Z]/, (c) => c.toLowerCase());

/** rows are those of a list or map, the one that begins the next included. */
export function rows(field: ParentNode): HTMLElement[] { return [...field.querySelectorAll<HTMLElement>("[data-row]")]; }

function item(row: HTMLElement): unknown {
  const kept = part(row, "kept")?.value;
  return text(row) || (kept ? JSON.parse(kept) : undefined);
}

function list(field: HTMLElement): Reading {
  const items = rows(field).map(item).filter((v) => v !== undefined);
  return items.length ? { value: items } : {};
}

function map(field: HTMLElement): Reading {
  const named: Record<string, unknown> = {};
  for (const [i, row] of rows(field).entries()) {
    const name = part(row, "name")!.value.trim(), value = item(row);
    if (!name && value !== undefined) return { error: `Row ${i + 1} has a value and no name.` };
    if (name in named) return { error: `The name “${name}” is there twice.` };
    if (name) named[name] = value ?? "";
  }
  return Object.keys(named).length ? { value: named } : {};
}

function retry(field: HTMLElement): Reading {
  const [a, b] = [...field.querySelectorAll("input")].map((i) => number(i.value, i.name === "retry.attempts"));
  const attempts = a!.value as number | undefined, pause = b!.value as number | undefined;
  if (a!.error || b!.error) return { error: a!.error ?? b!.error };
  if (attempts === undefined) return pause ? { error: "Say how many attempts there may be: 2 or more." } : {};
  if (attempts < 1 || attempts > 20) return { error: "There are 1 to 20 attempts." };
  return { value: pause ? { attempts, backoff_s: pause } : { attempts } };
}

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

/** write shows a value that came from elsewhere; false where only the server can. */
export function write(field: HTMLElement, value: unknown): boolean {
  const c = control(field), as = field.dataset.value!, shown = value === undefined ? "" : String(value);
  if (as === "flag") (c as HTMLInputElement).checked = value === true;
  else if (["text", "area", "number", "integer", "model", "type"].includes(as) && typeof value !== "object") { if (c.value !== shown) c.value = shown; }
  else return false;
  return true;
}

/** same compares two JSON values; the order of names does not count. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => n in b && same((a as Record<string, unknown>)[n], (b as Record<string, unknown>)[n]));
}
