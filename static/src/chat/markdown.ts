// A parser for the Markdown that models write: headings, lists, tables, code, quotes,
// emphasis and links. It returns a tree that render.ts turns into elements. HTML is shown
// as text and images become links, because the output of a model must not run or load anything.

export type Inline = string | { tag: "code" | "strong" | "em" | "del" | "br" | "a"; href?: string; parts: Inline[] };

export type Block =
  | { tag: "p"; parts: Inline[] }
  | { tag: "h"; level: number; parts: Inline[] }
  | { tag: "pre"; lang: string; text: string }
  | { tag: "ul" | "ol"; start: number; items: Block[][] }
  | { tag: "quote"; blocks: Block[] }
  | { tag: "table"; head: Inline[][]; rows: Inline[][][] }
  | { tag: "hr" };

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const quote = /^ {0,3}> ?/;
const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const delimiter = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** parse returns the blocks of a text, which may be cut off anywhere. */
export function parse(text: string): Block[] {
  return blocks(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"), 0);
}

const maxDepth = 12; // nesting depth of lists and quotes

function blocks(lines: string[], depth: number): Block[] {
  const list: Block[] = [];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] ?? "";
    if (!line.trim()) { i++; continue; }
    const rest = lines.slice(i), found = code(rest) ?? (depth < maxDepth ? nested(rest, depth) : undefined) ?? single(line) ?? table(rest) ?? paragraph(rest);
    list.push(found[0]);
    i += found[1];
  }
  return list;
}

type Found = [block: Block, lines: number];

/** code parses a fenced block; without a closing fence, the rest of the text is code. */
function code(lines: string[]): Found | undefined {
  const open = fence.exec(lines[0] ?? "");
  if (!open) return undefined;
  const mark = open[1] ?? "", indent = /^ */.exec(lines[0] ?? "")?.[0].length ?? 0;
  const close = lines.findIndex((line, i) => i > 0 && line.trim().startsWith(mark) && !line.trim().replaceAll(mark[0] ?? "`", ""));
  const end = close < 0 ? lines.length : close;
  const body = lines.slice(1, end).map((line) => line.replace(new RegExp(`^ {0,${indent}}`), ""));
  return [{ tag: "pre", lang: open[2] ?? "", text: body.join("\n") }, close < 0 ? lines.length : close + 1];
}

/** nested parses a block that contains blocks: a quote or a list. */
function nested(lines: string[], depth: number): Found | undefined {
  if (quote.test(lines[0] ?? "")) {
    const end = until(lines, (line) => !quote.test(line));
    return [{ tag: "quote", blocks: blocks(lines.slice(0, end).map((line) => line.replace(quote, "")), depth + 1) }, end];
  }
  return rule.test(lines[0] ?? "") ? undefined : listOf(lines, depth);
}

/** until returns the index of the first matching line, or the number of lines. */
function until(lines: string[], fits: (line: string, i: number) => boolean): number {
  const i = lines.findIndex(fits);
  return i < 0 ? lines.length : i;
}

/** listOf parses a list: items with the same kind of marker, and the lines indented below them. */
function listOf(lines: string[], depth: number): Found | undefined {
  const first = item.exec(lines[0] ?? "");
  if (!first) return undefined;
  const numbered = /\d/.test(first[2] ?? ""), base = first[1]?.length ?? 0, items: string[][] = [];
  let inner = 0, i = 0, blank = false;
  for (; i < lines.length; i++) {
    const line = lines[i] ?? "", mark = item.exec(line), indent = line.length - line.trimStart().length;
    if (!line.trim()) { blank = true; items.at(-1)?.push(""); continue; }
    if (mark && indent <= base + 1 && !rule.test(line)) {
      if (/\d/.test(mark[2] ?? "") !== numbered) break;
      inner = indent + (mark[2]?.length ?? 1) + Math.min(Math.max(mark[3]?.length ?? 1, 1), 4);
      items.push([mark[4] ?? ""]);
    } else if (indent > base && (indent >= inner || mark || !blank)) items.at(-1)?.push(line.slice(Math.min(indent, inner)));
    else if (blank || starts(line) || fence.test(items.at(-1)?.at(-1)?.trim() ?? "")) break;
    else items.at(-1)?.push(line.trimStart());
    blank = false;
  }
  return [{ tag: numbered ? "ol" : "ul", start: numbered ? Number.parseInt(first[2] ?? "1", 10) : 1, items: items.map((lines) => blocks(lines, depth + 1)) }, i];
}

/** single parses a block of one line. */
function single(line: string): Found | undefined {
  const h = heading.exec(line);
  if (h) return [{ tag: "h", level: h[1]?.length ?? 1, parts: inline(h[2] ?? "") }, 1];
  return rule.test(line) ? [{ tag: "hr" }, 1] : undefined;
}

/** table parses a table: a header row, a row of dashes, and more rows. */
function table(lines: string[]): Found | undefined {
  const [head = "", dashes = ""] = lines;
  if (!head.includes("|") || !dashes.includes("-") || !delimiter.test(dashes)) return undefined;
  const end = until(lines, (line, i) => i > 1 && !line.includes("|"));
  return [{ tag: "table", head: cells(head), rows: lines.slice(2, end).map(cells) }, end];
}

const cells = (line: string): Inline[][] => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));

const starts = (line: string): boolean => fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line);

function paragraph(lines: string[]): Found {
  const end = until(lines, (line, i) => i > 0 && (!line.trim() || starts(line) || /^\s*([-*+]|1[.)])\s+\S/.test(line)));
  return [{ tag: "p", parts: inline(lines.slice(0, end).map((line) => line.trim()).join("\n")) }, end];
}

// Inline elements, the most specific first. Each pattern is anchored at the current position.
const tokens: [RegExp, (m: RegExpExecArray, depth: number) => Inline][] = [
  [/\\([!-/:-@[-`{-~])/y, (m) => m[1] ?? ""],
  [/(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/y, (m) => ({ tag: "code", parts: [(m[2] ?? "").replace(/^ (.*\S.*) $/, "$1")] })],
  [/!?\[((?:[^[\]\\]|\\.|\[[^\]]*\])*)\]\(\s*<?([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+["'][^"']*["'])?\s*\)/y, (m, depth) => link(m[2] ?? "", inline(m[1] || (m[2] ?? ""), depth + 1))],
  [/<((?:https?:\/\/|mailto:)[^\s<>]+)>/y, (m) => link(m[1] ?? "", [m[1] ?? ""])],
  [/https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*_~]/y, (m) => link(m[0], [m[0]])],
  [/\*\*(?=\S)((?:[^*]|\*(?!\*))*?\S)\*\*/y, (m, depth) => ({ tag: "strong", parts: inline(m[1] ?? "", depth + 1) })],
  [/(?<![\p{L}\p{N}_])__(?=\S)([\s\S]*?\S)__(?![\p{L}\p{N}])/uy, (m, depth) => ({ tag: "strong", parts: inline(m[1] ?? "", depth + 1) })],
  [/\*(?=[^\s*])((?:[^*]|\*\*[^*]+\*\*)*?[^\s*])\*(?!\*)/y, (m, depth) => ({ tag: "em", parts: inline(m[1] ?? "", depth + 1) })],
  [/(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]*?[^\s_])_(?![\p{L}\p{N}])/uy, (m, depth) => ({ tag: "em", parts: inline(m[1] ?? "", depth + 1) })],
  [/~~(?=\S)([\s\S]*?\S)~~/y, (m, depth) => ({ tag: "del", parts: inline(m[1] ?? "", depth + 1) })],
  [/\n/y, () => ({ tag: "br", parts: [] })],
];

const special = /[\\`![<*_~\n]|https?:/g;

/** inline parses the text of a block. */
export function inline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  const add = (part: Inline) => {
    const last = parts.at(-1);
    if (typeof part === "string" && typeof last === "string") parts[parts.length - 1] = last + part;
    else if (part !== "") parts.push(part);
  };
  for (let at = 0; at < text.length; ) {
    special.lastIndex = at;
    const next = special.exec(text)?.index ?? text.length;
    add(text.slice(at, next));
    if (next === text.length) break;
    at = next;
    const found = depth < maxDepth && tokens.some(([pattern, make]) => {
      pattern.lastIndex = at;
      const m = pattern.exec(text);
      if (m) add(make(m, depth)), (at += m[0].length);
      return m !== null;
    });
    if (!found) add(text[at++] ?? "");
  }
  return parts;
}

/** link returns a link, or only its text unless the URL is http(s) or mailto. */
function link(href: string, parts: Inline[]): Inline {
  if (/^(https?:\/\/|mailto:)/i.test(href)) return { tag: "a", href, parts };
  return parts.length === 1 && typeof parts[0] === "string" ? parts[0] : { tag: "em", parts };
}
