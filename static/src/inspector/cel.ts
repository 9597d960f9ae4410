// Conditions as rows: a view of the part of CEL that compares the fields of a value.
// Rows write an expression and read it back; expressions beyond them are edited as text.

/** Literal is a value in an expression. A number keeps the digits that were typed. */
export type Literal = { type: "text" | "number" | "boolean" | "null"; text: string };

/** Row compares a path, such as value.score, with values. */
export type Row = { path: string; op: Op; values: Literal[] };

/** Rows are joined by "&&" or "||", but not by both. */
export type Rows = { join: "&&" | "||"; rows: Row[] };

/** ops are the comparisons: their names in lists, and the values that they take. */
export const ops = {
  "==": ["is", "any"], "!=": ["is not", "any"],
  "contains": ["contains", "text"], "!contains": ["does not contain", "text"],
  ">": ["more than", "number"], ">=": ["at least", "number"], "<": ["less than", "number"], "<=": ["at most", "number"],
  "startsWith": ["starts with", "text"], "endsWith": ["ends with", "text"], "matches": ["matches pattern", "text"],
  "in": ["is one of", "list"], "!in": ["is not one of", "list"],
  "includes": ["list includes", "any"], "!includes": ["list lacks", "any"],
  "empty": ["is empty", "none"], "!empty": ["is not empty", "none"],
  "size>": ["length more than", "number"], "size<": ["length less than", "number"],
  "has": ["exists", "none"], "!has": ["is missing", "none"],
} as const satisfies Record<string, readonly [label: string, takes: "any" | "text" | "number" | "list" | "none"]>;
export type Op = keyof typeof ops;

/** takes returns the kind of value that a comparison needs. */
export const takes = (op: Op): "any" | "text" | "number" | "list" | "none" => ops[op][1];

// Writing.

const quote = (s: string): string => JSON.stringify(s.replace(/\p{Surrogate}/gu, "\ufffd"));
const literal = (l: Literal | undefined): string => !l ? '""' : l.type === "text" ? quote(l.text) : l.text;

/** write returns the expression of rows, or of one row. */
export function write(r: Rows): string { return r.rows.map(writeRow).join(` ${r.join} `); }

export function writeRow({ path, op, values }: Row): string {
  const not = op.startsWith("!") && op !== "!=" ? "!" : "", plain = not ? op.slice(1) : op, value = literal(values[0]);
  switch (plain) {
    case "contains": case "startsWith": case "endsWith": case "matches": return `${not}${path}.${plain}(${value})`;
    case "in": return not ? `!(${path} in [${values.map(literal).join(", ")}])` : `${path} in [${values.map(literal).join(", ")}]`;
    case "includes": return not ? `!(${value} in ${path})` : `${value} in ${path}`;
    case "empty": return `size(${path}) ${not ? "!=" : "=="} 0`;
    case "size>": case "size<": return `size(${path}) ${plain[4]} ${value}`;
    case "has": return `${not}has(${path})`;
  }
  return `${path} ${plain} ${value}`;
}

// Reading.

const tokens = /\s*(?:("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n])*')|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))|([A-Za-z_]\w*)|(&&|\|\||==|!=|>=|<=|[<>!.,()[\]]))/y;

type Token = { text: string; type: "string" | "number" | "name" | "sign" };

/** tokenize splits an expression, or returns undefined if it has other tokens. */
function tokenize(s: string): Token[] | undefined {
  const list: Token[] = [], end = s.trimEnd().length;
  tokens.lastIndex = 0;
  while (tokens.lastIndex < end) {
    const m = tokens.exec(s);
    if (!m) return undefined;
    const i = m.slice(1).findIndex((g) => g !== undefined);
    list.push({ text: m[i + 1]!, type: (["string", "number", "name", "sign"] as const)[i]! });
  }
  return list;
}

/** unquote returns the text of a string, or undefined if it has escapes that JSON lacks. */
function unquote(s: string): string | undefined {
  try { return JSON.parse(s[0] === "'" ? `"${s.slice(1, -1).replaceAll('"', '\\"')}"` : s.replaceAll("\\'", "'")) as string; } catch { return undefined; }
}

class NoRows extends Error {}

/** Reader reads tokens. Its methods throw NoRows for expressions that are not rows. */
class Reader {
  private at = 0;
  constructor(private list: Token[]) {}

  get done(): boolean { return this.at >= this.list.length; }
  is(...texts: string[]): boolean { return texts.every((t, i) => this.list[this.at + i]?.text === t && this.list[this.at + i]!.type !== "string"); }
  skip(...texts: string[]): boolean { if (!this.is(...texts)) return false; this.at += texts.length; return true; }
  need(...texts: string[]): void { if (!this.skip(...texts)) throw new NoRows(); }
  next(type: Token["type"]): string { const t = this.list[this.at]; if (t?.type !== type) throw new NoRows(); this.at++; return t.text; }
  get type(): Token["type"] | undefined { return this.list[this.at]?.type; }
  oneOf(texts: readonly string[]): string { const t = texts.find((x) => this.is(x)); if (!t) throw new NoRows(); this.at++; return t; }
  private calls(): boolean { return this.list[this.at + 2]?.text === "("; }

  /** path reads value with its fields and items. */
  path(): string {
    this.need("value");
    let path = "value";
    for (;;) {
      if (this.is(".") && !this.calls()) { this.at++; path += `.${this.next("name")}`; }
      else if (this.skip("[")) {
        path += this.type === "string" ? `[${quote(this.text())}]` : `[${this.next("number")}]`;
        this.need("]");
      } else return path;
    }
  }

  text(): string { const s = unquote(this.next("string")); if (s === undefined) throw new NoRows(); return s; }

  literal(): Literal {
    if (this.type === "string") return { type: "text", text: this.text() };
    if (this.type === "number") return { type: "number", text: this.next("number") };
    const word = this.oneOf(["true", "false", "null"]);
    return { type: word === "null" ? "null" : "boolean", text: word };
  }

  row(): Row {
    const not = this.skip("!"), no = (op: string): Op => (not ? `!${op}` : op) as Op;
    if (this.skip("has", "(")) { const path = this.path(); this.need(")"); return { path, op: no("has"), values: [] }; }
    if (this.skip("size", "(")) {
      const path = this.path();
      this.need(")");
      const op = this.oneOf(["==", "!=", ">", "<"]), text = this.next("number");
      if (not || op.length === 2 && text !== "0") throw new NoRows();
      return op.length === 2 ? { path, op: op === "==" ? "empty" : "!empty", values: [] } : { path, op: `size${op}` as Op, values: [{ type: "number", text }] };
    }
    if (not && this.skip("(")) { const r = this.membership(no); this.need(")"); return r; }
    if (!this.is("value")) { if (not) throw new NoRows(); return this.membership(no); }
    const path = this.path();
    if (this.skip(".")) {
      const op = this.oneOf(not ? ["contains"] : ["contains", "startsWith", "endsWith", "matches"]);
      this.need("(");
      const text = this.text();
      this.need(")");
      return { path, op: no(op), values: [{ type: "text", text }] };
    }
    if (not) throw new NoRows();
    if (this.is("in")) return this.oneOfList(path, no);
    return { path, op: this.oneOf(["==", "!=", ">=", "<=", ">", "<"]) as Op, values: [this.literal()] };
  }

  /** membership reads "a value in a path", or "a path in a list". */
  private membership(no: (op: string) => Op): Row {
    if (this.is("value")) return this.oneOfList(this.path(), no);
    const value = this.literal();
    this.need("in");
    return { path: this.path(), op: no("includes"), values: [value] };
  }

  private oneOfList(path: string, no: (op: string) => Op): Row {
    this.need("in", "[");
    const values: Literal[] = [];
    while (!this.is("]")) { if (values.length) this.need(","); values.push(this.literal()); }
    this.need("]");
    return { path, op: no("in"), values };
  }
}

/** parse returns the rows of an expression, or undefined if it can only be edited as text. */
export function parse(source: string): Rows | undefined {
  const list = tokenize(source);
  if (!list?.length) return undefined;
  const r = new Reader(list), out: Rows = { join: "&&", rows: [] };
  try {
    out.rows.push(r.row());
    if (r.is("||")) out.join = "||";
    while (!r.done) { r.need(out.join); out.rows.push(r.row()); }
  } catch (e) {
    if (e instanceof NoRows) return undefined;
    throw e;
  }
  return out;
}

// Values as people type them.

/** typed returns the literal for a typed text. As a text field holds it, 5 is a number unless the compared value is a text or the text has quotes. */
export function typed(s: string, kind: "any" | "text" | "number", sample?: string): Literal {
  const t = s.trim();
  if (kind === "text") return { type: "text", text: s };
  const quoted = /^".*"$/s.test(t) ? unquote(t) : undefined;
  if (quoted !== undefined) return { type: "text", text: quoted };
  if (sample !== "text" || kind === "number") {
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(t)) return { type: "number", text: t };
    if (t === "true" || t === "false") return { type: "boolean", text: t };
    if (t === "null") return { type: "null", text: t };
  }
  return { type: "text", text: s };
}

/** shown returns the text that typed reads as the literal. */
export function shown(l: Literal, kind: "any" | "text" | "number", sample?: string): string {
  const back = typed(l.text, kind, sample);
  return l.type !== "text" || back.type === "text" && back.text === l.text ? l.text : quote(l.text);
}

/** typedList reads values separated by commas. A value with a comma is written in quotes. */
export function typedList(s: string, sample?: string): Literal[] {
  const parts = s.match(/\s*(?:"(?:[^"\\]|\\.)*"|[^,])+/g) ?? [];
  return parts.map((p) => typed(p.trim(), "any", sample)).filter((l, i) => l.text !== "" || parts[i]!.trim() === '""');
}

/** shownList returns the text that typedList reads as the literals. */
export function shownList(list: Literal[], sample?: string): string {
  return list.map((l) => (l.type === "text" && (l.text !== l.text.trim() || l.text === "" || /[,"]/.test(l.text)) ? quote(l.text) : shown(l, "any", sample))).join(", ");
}
