import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inline, parse } from "./markdown.ts";

const a = (href: string, ...parts: string[]) => ({ tag: "a", href, parts });
const strong = (...parts: unknown[]) => ({ tag: "strong", parts });
const em = (...parts: unknown[]) => ({ tag: "em", parts });
const p = (...parts: unknown[]) => ({ tag: "p", parts });

describe("inline", () => {
  const cases: [string, unknown[]][] = [
    ["plain", ["plain"]],
    ["a **b** c", ["a ", strong("b"), " c"]],
    ["**a *b* c**", [strong("a ", em("b"), " c")]],
    ["*a **b** c*", [em("a ", strong("b"), " c")]],
    ["2 * 3 * 4", ["2 * 3 * 4"]],
    ["snake_case_name", ["snake_case_name"]],
    ["_a_ __b__", [em("a"), " ", strong("b")]],
    ["~~a~~", [{ tag: "del", parts: ["a"] }]],
    ["`a*b*` ``c`d``", [{ tag: "code", parts: ["a*b*"] }, " ", { tag: "code", parts: ["c`d"] }]],
    ["\\*a\\*", ["*a*"]],
    ["**cut", ["**cut"]],
    ["[a](https://x.io/b)", [a("https://x.io/b", "a")]],
    ["[a](https://en.wikipedia.org/wiki/B_(c))", [a("https://en.wikipedia.org/wiki/B_(c)", "a")]],
    ["![cat](https://x.io/c.png)", [a("https://x.io/c.png", "cat")]],
    ["[a](javascript:alert`1`)", ["a"]],
    ["[a](/flows)", ["a"]],
    ["see https://x.io/a, now.", ["see ", a("https://x.io/a", "https://x.io/a"), ", now."]],
    ["<b>bold</b>", ["<b>bold</b>"]],
    ["one\ntwo", ["one", { tag: "br", parts: [] }, "two"]],
  ];
  for (const [text, want] of cases) test(text, () => assert.deepEqual(inline(text), want));
});

describe("parse", () => {
  const cases: [string, string, unknown[]][] = [
    ["paragraphs", "a\n\nb", [p("a"), p("b")]],
    ["a heading", "## A *b*\ntext", [{ tag: "h", level: 2, parts: ["A ", em("b")] }, p("text")]],
    ["code", "```js\nlet *a*;\n\nb\n```\nc", [{ tag: "pre", lang: "js", text: "let *a*;\n\nb" }, p("c")]],
    ["code that is cut off", "a\n```\nb", [p("a"), { tag: "pre", lang: "", text: "b" }]],
    ["a list", "- a\n- b\n  c", [{ tag: "ul", start: 1, items: [[p("a")], [p("b", { tag: "br", parts: [] }, "c")]] }]],
    ["a list after a sentence", "Do:\n1. a\n2. b", [p("Do:"), { tag: "ol", start: 1, items: [[p("a")], [p("b")]] }]],
    ["nested lists", "1. a\n   - b\n   - c\n\n2. d", [{ tag: "ol", start: 1, items: [[p("a"), { tag: "ul", start: 1, items: [[p("b")], [p("c")]] }], [p("d")]] }]],
    ["code in a list", "3. a\n   ```\n   b\n   ```\nc", [{ tag: "ol", start: 3, items: [[p("a"), { tag: "pre", lang: "", text: "b" }]] }, p("c")]],
    ["a paragraph after a list", "- a\n\nb", [{ tag: "ul", start: 1, items: [[p("a")]] }, p("b")]],
    ["a quote", "> a\n> - b", [{ tag: "quote", blocks: [p("a"), { tag: "ul", start: 1, items: [[p("b")]] }] }]],
    ["a table", "| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n\nz", [{ tag: "table", head: [["a"], ["b"]], rows: [[["1"], [{ tag: "code", parts: ["x|y"] }]]] }, p("z")]],
    ["a rule", "a\n\n---\nb", [p("a"), { tag: "hr" }, p("b")]],
    ["no list", "2024. was a year", [{ tag: "ol", start: 2024, items: [[p("was a year")]] }]],
  ];
  for (const [name, text, want] of cases) test(name, () => assert.deepEqual(parse(text), want));

  test("ends for every prefix and for hostile texts", () => {
    const text = cases.map(([, t]) => t).join("\n\n");
    for (let i = 0; i <= text.length; i++) parse(text.slice(0, i));
    for (const part of ["> ", "- ", "**", "[", "*a", "`", "_", "|", "![](", "1. - "]) parse(part.repeat(5000));
  });
});
