import assert from "node:assert/strict";
import { test } from "node:test";
import { askedSince, forget, stateOf, take } from "./asked.ts";
import type { AgentEvent } from "./events.ts";

const agent = (node: string, ...asks: [node: string, ms: number][]): AgentEvent => ({ node, turn: 1, used: 0, asks: asks.map(([node, ms]) => ({ tool: node, node, ms })) });

test("a tool waits from the oldest question about it until the last one is answered", () => {
  forget();
  assert.deepEqual([...take([agent("agent", ["refund", 100], ["refund", 400], ["find", 50])], 1000)], ["refund", "find"]);
  assert.equal(askedSince("refund"), 600);
  assert.equal(stateOf("refund", { state: "running" }), "waiting");
  assert.deepEqual([...take([agent("agent", ["refund", 200])], 1100)], ["refund", "find"]);
  assert.equal(askedSince("refund"), 900);
  assert.equal(stateOf("find", { state: "succeeded" }), "succeeded");
  assert.equal(stateOf("find", undefined), "");
  assert.deepEqual([...take([agent("agent")], 1200)], ["refund"]);
  assert.equal(askedSince("refund"), undefined);
});

test("a tool of two agents waits until both have their answers", () => {
  forget();
  take([agent("a", ["refund", 10]), agent("b", ["refund", 30])], 100);
  take([agent("b")], 100);
  assert.equal(askedSince("refund"), 90);
  take([agent("a")], 100);
  assert.equal(askedSince("refund"), undefined);
});
