import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Draft, type FlowDocument } from "./model.ts";
import { applyAll, Touched, type Op } from "./ops.ts";
import { Sync, type Remote } from "./sync.ts";

const start: FlowDocument = { name: "Flow", nodes: [{ id: "a", kind: "text", position: { x: 0, y: 0 }, config: {} }, { id: "b", kind: "text", position: { x: 0, y: 0 }, config: {} }], edges: [] };
const snapshot = (d: Draft): unknown => JSON.parse(JSON.stringify({ nodes: [...d.nodes.values()], edges: d.edges, groups: [...d.groups.values()] }));
const set = (node: string, value: unknown): Op[] => [{ op: "set", node, field: "text", value }];
const settled = (): Promise<void> => new Promise((resolve) => { setTimeout(resolve, 5); });

// What Sync uses of a browser.
Object.assign(globalThis, { window: globalThis, addEventListener: () => {} });

/** server is a draft with a log, as the real one keeps it. */
function server() {
  const draft = new Draft(structuredClone(start)), log: Remote[] = [];
  let rejected: string | undefined;
  const commit = (tab: string, txid: string, ops: Op[]) => {
    applyAll(draft, structuredClone(ops), new Touched());
    log.push({ rev: log.length + 1, tab, txid, ops });
  };
  const respond = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });
  globalThis.fetch = async (_, init) => {
    const { base, tab, txid, ops } = JSON.parse(String(init?.body)) as { base: number; tab: string; txid: string; ops: Op[] };
    if (log.some((m) => m.txid === txid)) return respond(200, { rev: log.length });
    if (base < log.length) return respond(409, { rev: log.length, missed: log.slice(base) });
    if (rejected) return respond(422, { detail: rejected });
    commit(tab, txid, ops);
    return respond(200, { rev: log.length });
  };
  return { draft, log, commit, reject: (reason: string) => { rejected = reason; } };
}

/** client is a draft that saves its changes. */
function client() {
  const draft = new Draft(structuredClone(start)), events: string[] = [], said: string[] = [];
  const apply = (ops: Op[]) => applyAll(draft, structuredClone(ops), new Touched());
  const sync = new Sync({
    announce: { say: (text) => void said.push(text) }, changes: { apply }, history: { replace: () => {}, forget: () => {} },
    headers: () => ({}), insides: () => {}, emit: (name) => events.push(name) > 0,
  }, "/ops", 0, "test");
  let txid = 0;
  return { draft, sync, events, said, edit: (ops: Op[]) => sync.push({ txid: `tx-${++txid}`, ops, undo: apply(ops) }) };
}

describe("sync", () => {
  test("saves changes in order", async () => {
    const s = server(), c = client();
    c.edit(set("a", 1));
    c.edit(set("a", 2));
    await settled();
    assert.deepEqual([s.log.length, c.sync.rev, c.sync.waiting], [2, 2, 0]);
    assert.deepEqual(snapshot(c.draft), snapshot(s.draft));
  });
  test("rebases unsaved changes onto missed ones", async () => {
    const s = server(), c = client();
    s.commit("other", "x-1", [{ op: "remove", nodes: ["b"] }, ...set("a", "theirs")]);
    c.edit(set("b", "lost"));
    c.edit(set("a", "mine"));
    await settled();
    assert.equal(c.draft.nodes.get("a")!.config.text, "mine");
    assert.deepEqual(snapshot(c.draft), snapshot(s.draft));
    assert(c.events.includes("canvas:remote"));
  });
  test("undoes only the change that is rejected", async () => {
    const s = server(), c = client();
    s.reject("Too many nodes.");
    c.edit(set("a", 1));
    await settled();
    assert.deepEqual([c.said, c.sync.waiting], [["Too many nodes."], 0]);
    assert.deepEqual(snapshot(c.draft), snapshot(s.draft));
  });
  test("applies transactions that the server announces", async () => {
    const s = server(), c = client();
    s.commit("other", "x-1", set("a", 7));
    c.sync.remote(s.log[0]!);
    c.sync.remote(s.log[0]!); // announced twice
    await settled();
    assert.equal(c.sync.rev, 1);
    assert.deepEqual(snapshot(c.draft), snapshot(s.draft));
  });
  test("does not apply a saved change twice when its response was lost", async () => {
    const s = server(), c = client();
    s.commit("", "tx-1", [{ op: "group", id: "g", group: { nodes: ["a"] } }]);
    s.commit("other", "x-2", set("b", 1));
    c.edit([{ op: "group", id: "g", group: { nodes: ["a"] } }]);
    await settled();
    c.sync.remote({ rev: 3, tab: "other", txid: "x-3", ops: [] });
    assert.equal(c.sync.waiting, 0);
    assert.deepEqual(c.draft.groups.get("g")?.nodes, ["a"]);
  });
});
