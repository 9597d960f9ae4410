import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Draft, type Port } from "./model.ts";
import { loopNodes, connectOps, loopOver, pair, refusal } from "./rules.ts";

const out = (node: string, type: Port["type"] = "text"): Port => ({ node, name: "out", side: "out", type, many: false });
const into = (node: string, type: Port["type"] = "text", many = false): Port => ({ node, name: "in", side: "in", type, many });
const edge = (a: string, b: string) => ({ from: `${a}.out`, to: `${b}.in` });
const draft = new Draft({ nodes: ["a", "b", "c", "d"].map((id) => ({ id, kind: "text", config: {} })), edges: [edge("a", "b"), edge("b", "c")] });

test("a pair goes from output to input", () => assert.deepEqual(pair(into("b"), out("a")), [out("a"), into("b")]));
test("ports on the same side are not a pair", () => assert.equal(pair(out("a"), out("b")), undefined));

describe("refusal", () => {
  test("allows matching types", () => assert.equal(refusal(draft, out("a"), into("d")), undefined));
  test("allows either order of the ports", () => assert.equal(refusal(draft, into("d"), out("a")), undefined));
  for (const [name, a, b] of [
    ["two outputs", out("a"), out("d")], ["two inputs", into("a"), into("d")], ["a node and itself", out("a"), into("a")], ["types that do not fit", out("a", "list"), into("d")],
    ["an edge that exists", out("a"), into("b")], ["a loop", out("c"), into("a")],
  ] as [string, Port, Port][]) test(`rejects ${name}`, () => assert(refusal(draft, a, b)));
  test("allows the edge that is being moved", () => assert.equal(refusal(draft, out("a"), into("b"), edge("a", "b")), undefined));
});

describe("connectOps", () => {
  test("replaces the edge of an input", () => assert.deepEqual(connectOps(draft, out("d"), into("b")), [{ op: "disconnect", edge: edge("a", "b") }, { op: "connect", edge: edge("d", "b") }]));
  test("adds to a list port", () => assert.deepEqual(connectOps(draft, out("d"), into("b", "any", true)), [{ op: "connect", edge: edge("d", "b") }]));
  test("moves an edge", () => assert.deepEqual(connectOps(draft, out("a"), into("d"), edge("a", "b")), [{ op: "disconnect", edge: edge("a", "b") }, { op: "connect", edge: edge("a", "d") }]));
  test("does nothing for an edge that is moved back", () => assert.deepEqual(connectOps(draft, out("a"), into("b"), edge("a", "b")), []));
});

describe("loopNodes", () => {
  test("returns the nodes before an output", () => assert.deepEqual([...loopNodes(draft, out("c"))].sort(), ["a", "b"]));
  test("returns the nodes after an input", () => assert.deepEqual([...loopNodes(draft, into("a"))].sort(), ["b", "c"]));
});

describe("a list at an input of a map", () => {
  const map = (config: Record<string, unknown>) => new Draft({ nodes: [{ id: "list", kind: "input", config: {} }, { id: "map", kind: "map", config }], edges: [{ from: "list.other", to: "map.input.brand" }] });
  const port = (name: string, type: Port["type"]): Port => ({ node: "map", name, side: "in", type, many: false });
  const over = (config: Record<string, unknown>, name = "text") => connectOps(map(config), out("list", "list"), port(`input.${name}`, "text")).find((o) => o.op === "set");
  test("is accepted and sets the loop", () => {
    assert.equal(refusal(map({}), out("list", "list"), port("input.text", "text")), undefined);
    assert.deepEqual(over({}), { op: "set", node: "map", field: "over", value: ["text"] });
  });
  test("replaces a preselected input without a value", () => assert.deepEqual(over({ over: ["text"] }, "title"), { op: "set", node: "map", field: "over", value: ["title"] }));
  test("is added to inputs with a value", () => assert.deepEqual(over({ over: ["brand", "tags"], "input.tags": ["a"] }), { op: "set", node: "map", field: "over", value: ["brand", "tags", "text"] }));
  test("needs no loop at an input that is a list already", () => assert.equal(loopOver(map({ over: ["text"] }), out("list", "list"), port("input.text", "list")), undefined));
  test("is refused at other ports", () => assert(refusal(map({}), out("list", "list"), port("flow", "text"))));
});
