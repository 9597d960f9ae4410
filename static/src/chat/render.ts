// Elements of parsed Markdown. Texts are set as text, never as HTML.
import { el } from "../builder/dom.ts";
import { icon } from "../icon.ts";
import { type Block, type Inline, parse } from "./markdown.ts";

// The source of each rendered block, to keep the elements of unchanged blocks.
const shown = new WeakMap<Element, string>();

/** showMarkdown renders Markdown into an element. Unchanged blocks keep their elements and with them the text selection. */
export function showMarkdown(into: HTMLElement, text: string): void {
  const list = parse(text);
  list.forEach((block, i) => {
    const source = JSON.stringify(block), old = into.children[i];
    if (old && shown.get(old) === source) return;
    const element = blockElement(block);
    shown.set(element, source);
    if (old) old.replaceWith(element);
    else into.append(element);
  });
  while (into.children.length > list.length) into.lastElementChild?.remove();
}

function blockElement(block: Block): HTMLElement {
  switch (block.tag) {
    case "p": return el("p", {}, ...inlines(block.parts));
    case "h": return el(`h${Math.min(block.level + 2, 6)}` as "h3", {}, ...inlines(block.parts)); // the title of the page is h1, "You said" h2
    case "pre": return codeElement(block.lang, block.text);
    case "ul": return el("ul", {}, ...block.items.map((item) => el("li", {}, ...itemParts(item))));
    case "ol": return el("ol", block.start === 1 ? {} : { start: String(block.start) }, ...block.items.map((item) => el("li", {}, ...itemParts(item))));
    case "quote": return el("blockquote", {}, ...block.blocks.map(blockElement));
    case "hr": return el("hr");
    case "table": {
      const row = (cell: "th" | "td", cells: Inline[][]) => el("tr", {}, ...cells.map((parts) => el(cell, cell === "th" ? { scope: "col" } : {}, ...inlines(parts))));
      return el("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" }, el("table", {}, el("thead", {}, row("th", block.head)), el("tbody", {}, ...block.rows.map((cells) => row("td", cells)))));
    }
  }
}

/** itemParts returns the content of a list item. It unwraps a leading paragraph, which would add space. */
function itemParts(item: Block[]): (Node | string)[] {
  const [first, ...rest] = item;
  return first?.tag === "p" ? [...inlines(first.parts), ...rest.map(blockElement)] : item.map(blockElement);
}

function inlines(parts: Inline[]): (Node | string)[] {
  return parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.tag === "a") return el("a", { href: part.href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...inlines(part.parts));
    return el(part.tag, {}, ...inlines(part.parts));
  });
}

function codeElement(lang: string, text: string): HTMLElement {
  const copy = el("button", { type: "button", class: "btn quiet small copy", "data-copy": text },
    withClass(icon("copy"), "todo"), withClass(icon("check"), "done"), "Copy");
  return el("div", { class: "chat-code" }, el("div", { class: "chat-code-bar" }, el("span", {}, lang || "Text"), copy), el("pre", { tabindex: "0", "aria-label": `Code${lang && `, ${lang}`}` }, el("code", {}, text)));
}

function withClass(element: SVGElement, name: string): SVGElement {
  element.classList.add(name);
  return element;
}
