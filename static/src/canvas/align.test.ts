import assert from "node:assert/strict";
import { test } from "node:test";
import { align, type Alignment } from "./align.ts";

const boxes = [
  { id: "a", x: 0, y: 0, width: 100, height: 40 },
  { id: "b", x: 300, y: 100, width: 200, height: 60 },
  { id: "c", x: 110, y: 250, width: 50, height: 20 },
];

for (const [how, want] of Object.entries({
  left: { a: { x: 0, y: 0 }, b: { x: 0, y: 100 }, c: { x: 0, y: 250 } },
  center: { a: { x: 200, y: 0 }, b: { x: 150, y: 100 }, c: { x: 225, y: 250 } },
  right: { a: { x: 400, y: 0 }, b: { x: 300, y: 100 }, c: { x: 450, y: 250 } },
  top: { a: { x: 0, y: 0 }, b: { x: 300, y: 0 }, c: { x: 110, y: 0 } },
  middle: { a: { x: 0, y: 115 }, b: { x: 300, y: 105 }, c: { x: 110, y: 125 } },
  bottom: { a: { x: 0, y: 230 }, b: { x: 300, y: 210 }, c: { x: 110, y: 250 } },
  columns: { a: { x: 0, y: 0 }, b: { x: 300, y: 100 }, c: { x: 175, y: 250 } },
  rows: { a: { x: 0, y: 0 }, b: { x: 300, y: 115 }, c: { x: 110, y: 250 } },
})) test(`aligns ${how}`, () => assert.deepEqual(align(how as Alignment, boxes), want));

test("does not move a single node", () => assert.deepEqual(align("columns", [boxes[1]!]), { b: { x: 300, y: 100 } }));
test("overlaps nodes when the space is too small", () => {
  const places = align("columns", [{ id: "a", x: 0, y: 0, width: 100, height: 10 }, { id: "b", x: 10, y: 0, width: 100, height: 10 }, { id: "c", x: 20, y: 0, width: 100, height: 10 }]);
  assert.deepEqual(places, { a: { x: 0, y: 0 }, b: { x: 10, y: 0 }, c: { x: 20, y: 0 } });
});
