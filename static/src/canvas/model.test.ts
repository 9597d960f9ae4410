import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Draft, edgeKey, ends, fits, insertAt, type PortType } from "./model.ts";

const node = (id: string, x = 0, y = 0) => ({ id, kind: "text", position: { x, y }, config: {} });
const edge = (from: string, to: string) => ({ from: `${from}.out`, to: `${to}.in` });
const draft = (nodes: string[], edges: [string, string][]) => new Draft({ nodes: nodes.map((id, i) => node(id, i * 100)), edges: edges.map(([a, b]) => edge(a, b)) });

describe("ends", () => {
  test("splits at the first dot", () => assert.deepEqual(ends("write.input.a"), ["write", "input.a"]));
  test("has no port without a dot", () => assert.deepEqual(ends("write"), ["write", ""]));
});

describe("fits", () => {
  const types: PortType[] = ["text", "number", "boolean", "json", "list", "file", "any"];
  const scalars = new Set(["text number", "text boolean", "number text", "boolean text", "text file"]);
  for (const from of types)
    for (const to of types) {
      const loose = [from, to].some((t) => t === "any" || t === "json"), want = from === to || loose || scalars.has(`${from} ${to}`);
      test(`${from} to ${to}`, () => assert.equal(fits(from, to), want));
    }
});

describe("fits types of several types", () => {
  const cases: [PortType, PortType, boolean][] = [
    ["number", "file or text", false], ["text", "file or text", true], ["file", "file or text", true], ["list", "file or text", false],
    ["list", "list, file or text", true], ["number", "list, file or text", false], ["file", "list or text", false], ["json", "list or text", true],
    ["messages", "list", true], ["messages", "messages", true], ["messages", "text", false], ["text", "messages", false], ["json", "messages", true], ["tool", "tool", true], ["tool", "any", false], ["json", "tool", false],
  ];
  for (const [from, to, want] of cases) test(`${from} to ${to}`, () => assert.equal(fits(from, to), want));
});

describe("Draft", () => {
  const d = draft(["a", "b", "c", "d"], [["a", "b"], ["b", "c"], ["a", "d"]]);
  test("returns the edges of a node", () => assert.deepEqual(d.edgesOf("a").map(edgeKey), ["a.out>b.in", "a.out>d.in"]));
  test("returns the edges into a port", () => assert.deepEqual(d.edgesInto("c.in"), [edge("b", "c")]));
  test("returns the nodes after a node", () => assert.deepEqual([...d.after("a")].sort(), ["b", "c", "d"]));
  test("returns no nodes after the last one", () => assert.deepEqual([...d.after("c")], []));
  test("orders nodes topologically", () => assert.deepEqual(draft(["c", "b", "a"], [["a", "b"], ["b", "c"]]).order(), ["a", "b", "c"]));
  test("puts nodes of a cycle last", () => assert.deepEqual(draft(["a", "b", "c"], [["a", "b"], ["b", "a"]]).order(), ["c", "a", "b"]));
  test("returns a free ID", () => assert.deepEqual([draft(["chat"], []).free("chat"), draft([], []).free("chat_7"), draft(["chat", "chat_2"], []).free("chat_2")], ["chat_2", "chat", "chat_3"]));
});

describe("positions", () => {
  const d = new Draft({ nodes: [{ id: "a", kind: "text", config: {} }, node("b", 5, 6)], edges: [] });
  test("fall back to where a node was laid out", () => {
    d.layOut("a", { x: 1, y: 2 });
    assert.deepEqual(d.position("a"), { x: 1, y: 2 });
    assert.equal(d.nodes.get("a")!.position, undefined);
  });
  test("keep the place on the screen when the document drops them", () => {
    d.place(d.nodes.get("b")!, null);
    assert.deepEqual([d.nodes.get("b")!.position, d.position("b")], [undefined, { x: 5, y: 6 }]);
  });
});

test("insertAt keeps the order of the others", () => {
  const m = new Map([["a", 1], ["b", 2]]);
  insertAt(m, "c", 3, 1);
  insertAt(m, "d", 4);
  insertAt(m, "e", 5, 99);
  insertAt(m, "a", 6, 3);
  assert.deepEqual([...m], [["a", 6], ["c", 3], ["b", 2], ["d", 4], ["e", 5]]);
});
