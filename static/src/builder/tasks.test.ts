import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { held, shortcuts } from "../canvas/shortcuts.ts";
import { byTask, tasks } from "./tasks.ts";

describe("byTask", () => {
  test("has a task for each shortcut of the canvas", () => {
    const groups = byTask([...shortcuts, ...held]);
    assert.deepEqual(groups.find(([task]) => task === "Other"), undefined);
    assert.equal(groups.flatMap(([, list]) => list).length, shortcuts.length + held.length);
  });
  test("lists shortcuts without a task last", () => {
    const undo = { chords: ["Ctrl+Z"], what: "Undo" }, odd = { chords: ["F9"], what: "Odd" };
    assert.deepEqual(byTask([odd, undo]), [["Add and edit", [undo]], ["Other", [odd]]]);
  });
  test("names each chord once", () => {
    const all = tasks.flatMap(([, chords]) => chords);
    assert.equal(new Set(all).size, all.length);
  });
});
