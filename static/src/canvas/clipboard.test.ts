import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Clipboard, type Clip } from "./clipboard.ts";
import { Draft, type FlowDocument } from "./model.ts";
import { applyAll, Touched, type Op } from "./ops.ts";

const flow: FlowDocument = {
  nodes: [
    { id: "ask", kind: "input", position: { x: 0, y: 0 }, config: { name: "ask" } },
    { id: "call", kind: "http", position: { x: 300, y: 40 }, config: { url: "https://example.com", key: { credential: "shop" } } },
    { id: "note", kind: "note", config: {} },
  ],
  edges: [{ from: "ask.value", to: "call.body" }],
  groups: [{ id: "group_1", label: "Calls", nodes: ["call"] }, { id: "group_2", label: "All", nodes: ["ask", "call"] }],
};

/** setup returns a clipboard over a draft, and what was committed, selected and announced. */
function setup(readonly = false) {
  const draft = new Draft(structuredClone(flow)), commits: string[] = [], announced: string[] = [];
  let selected: string[] = [];
  const clipboard = new Clipboard({
    readonly, draft, announce: { say: (text) => void announced.push(text) },
    selection: { nodes: new Set(["call"]), set: (nodes) => { selected = [...nodes]; } },
    commit: (label: string, ops: Op[]) => { commits.push(label); applyAll(draft, ops, new Touched()); },
  });
  return { clipboard, draft, commits, announced, selected: () => selected };
}

/** copied returns the text that copying the selection puts on the clipboard. */
function copied(clipboard: Clipboard): string {
  let text = "";
  clipboard.copy({ clipboardData: { setData: (_: string, t: string) => { text = t; } }, preventDefault: () => {} } as unknown as ClipboardEvent);
  return text;
}

describe("copy", () => {
  test("includes incoming edges and complete groups", () => {
    const clip = JSON.parse(copied(setup().clipboard)) as Clip;
    assert.deepEqual([clip.nodes.map((n) => n.id), clip.edges, clip.groups.map((g) => g.id)], [["call"], flow.edges, ["group_1"]]);
  });
  test("leaves credentials out", () => {
    assert.deepEqual((JSON.parse(copied(setup().clipboard)) as Clip).nodes[0]!.config, { url: "https://example.com" });
  });
});

describe("paste", () => {
  test("adds nodes under new IDs at the grid point next to the position", () => {
    const c = setup();
    assert(c.clipboard.paste(copied(c.clipboard), { x: 101, y: 198 }, false));
    assert.deepEqual(c.draft.nodes.get("call_2")?.position, { x: 100, y: 200 });
    assert.deepEqual([c.commits, c.selected(), c.announced.at(-1)], [["Paste"], ["call_2"], "Pasted 1 node"]);
    assert.equal(c.draft.edges.length, 1);
  });
  test("renames the group too", () => {
    const c = setup();
    c.clipboard.paste(copied(c.clipboard), { x: 0, y: 0 }, false);
    assert.deepEqual(c.draft.groups.get("group_1_2")?.nodes, ["call_2"]);
  });
  test("keeps incoming edges when asked", () => {
    const c = setup();
    c.clipboard.paste(copied(c.clipboard), { x: 0, y: 0 }, true);
    assert.deepEqual(c.draft.edges.at(-1), { from: "ask.value", to: "call_2.body" });
  });
  for (const [name, text] of [["other text", "hello"], ["other JSON", '{"nodes": []}'], ["a document without nodes", '{"schema": "sluice.flow/v1", "nodes": []}'], ["nodes without an ID", '{"schema": "sluice.flow/v1", "nodes": [{"kind": "text"}]}']] as const)
    test(`ignores ${name}`, () => {
      const c = setup();
      assert(!c.clipboard.paste(text, { x: 0, y: 0 }, false));
      assert.deepEqual(c.commits, []);
    });
  test("does nothing when read-only", () => {
    const c = setup(true);
    assert(!c.clipboard.paste(copied(c.clipboard), { x: 0, y: 0 }, false));
  });
});

describe("duplicate", () => {
  test("keeps credentials and the edges between the copies", () => {
    const c = setup();
    c.clipboard.duplicate(["ask", "call"]);
    assert.deepEqual(c.draft.nodes.get("call_2"), { id: "call_2", kind: "http", position: { x: 340, y: 80 }, config: flow.nodes[1]!.config });
    assert.deepEqual(c.draft.edges.at(-1), { from: "ask_2.value", to: "call_2.body" });
  });
});
