import assert from "node:assert/strict";
import { test } from "node:test";
import { listen } from "./listen.ts";

test("listens to several events and passes their details", () => {
  const target = new EventTarget(), heard: unknown[] = [];
  listen<number>(target, "a b", (detail, e) => heard.push([e.type, detail]));
  for (const [name, detail] of [["a", 1], ["b", 2], ["c", 3]] as const) target.dispatchEvent(new CustomEvent(name, { detail }));
  assert.deepEqual(heard, [["a", 1], ["b", 2]]);
});
