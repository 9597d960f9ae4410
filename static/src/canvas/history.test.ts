import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { History } from "./history.ts";
import { Draft } from "./model.ts";
import { applyAll, Touched, type Op } from "./ops.ts";

/** setup returns a history over one node, and a function that sets a field of it as one step. */
function setup() {
  const draft = new Draft({ name: "Flow", nodes: [{ id: "a", kind: "text", config: {} }], edges: [] }), said: string[] = [];
  let txid = 0;
  const history = new History({
    readonly: false, announce: { say: (text) => void said.push(text) }, emit: () => true,
    changes: { perform: (ops) => ({ undo: applyAll(draft, structuredClone(ops), new Touched()), txid: `undo-${++txid}` }) },
  }, "history");
  const set = (value: unknown, key?: string) => {
    const redo: Op[] = [{ op: "set", node: "a", field: "text", value }], undo = applyAll(draft, structuredClone(redo), new Touched());
    history.record({ label: `Set ${String(value)}`, redo, undo, key, txids: [`tx-${String(value)}`] });
  };
  return { history, set, said, draft, text: () => draft.nodes.get("a")!.config.text };
}

describe("history", () => {
  test("undoes and redoes", () => {
    const h = setup();
    h.set(1);
    h.set(2);
    h.history.undo();
    assert.equal(h.text(), 1);
    h.history.undo();
    assert.equal(h.text(), undefined);
    h.history.redo();
    h.history.redo();
    assert.equal(h.text(), 2);
    assert.deepEqual(h.history.labels, { undo: "Set 2", redo: undefined });
  });
  test("merges steps with the same key until seal", () => {
    const h = setup();
    h.set("a", "typing");
    h.set("ab", "typing");
    h.history.seal();
    h.set("abc", "typing");
    h.history.undo();
    assert.equal(h.text(), "ab");
    h.history.undo();
    assert.equal(h.text(), undefined);
  });
  test("clears the redo stack after a new step", () => {
    const h = setup();
    h.set(1);
    h.history.undo();
    h.set(2);
    h.history.redo();
    assert.equal(h.text(), 2);
    assert.equal(h.said.at(-1), "Nothing to redo");
  });
  test("drops a step that the server rejected", () => {
    const h = setup();
    h.set(1);
    h.set(2);
    h.history.forget("tx-2");
    assert.deepEqual(h.history.labels, { undo: "Set 1", redo: undefined });
  });
  test("drops a step that no longer changes anything", () => {
    const h = setup();
    h.set(1);
    h.draft.nodes.delete("a");
    h.history.undo();
    assert.deepEqual(h.history.labels, { undo: undefined, redo: undefined });
  });
  test("replaces a sent value by the value that the server stored", () => {
    const h = setup(), secret = "s3cret", kept = { credential: "api" };
    h.set(secret);
    h.set("other");
    h.history.replace([{ op: "set", node: "a", field: "text", value: secret }], [{ op: "set", node: "a", field: "text", value: kept }]);
    h.history.undo();
    assert.deepEqual(h.text(), kept);
  });
});
