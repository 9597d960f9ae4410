import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { enclosing, middle, nearestLine, neighbor, snap, type Box } from "./geometry.ts";

const box = (x: number, y: number, width = 100, height = 40): Box => ({ x, y, width, height });

test("snaps to the grid", () => assert.deepEqual([4, 5, 14.9, -14.9].map(snap), [0, 10, 10, -10]));
test("finds the middle", () => assert.deepEqual(middle(box(10, 20)), { x: 60, y: 40 }));

describe("enclosing", () => {
  test("is nothing around nothing", () => assert.equal(enclosing([]), undefined));
  test("is the box itself", () => assert.deepEqual(enclosing([box(1, 2)]), box(1, 2)));
  test("holds all boxes", () => assert.deepEqual(enclosing([box(0, 0), box(-50, 100, 10, 10), box(200, 20)]), { x: -50, y: 0, width: 350, height: 110 }));
});

describe("neighbor", () => {
  const right = { x: 1, y: 0 }, up = { x: 0, y: -1 };
  const others: [string, Box][] = [["near", box(200, 0)], ["far", box(500, 0)], ["above", box(0, -200)], ["behind", box(-200, 0)]];
  test("takes the nearest ahead", () => assert.equal(neighbor(box(0, 0), others, right), "near"));
  test("goes up", () => assert.equal(neighbor(box(0, 0), others, up), "above"));
  test("prefers straight ahead to nearer but aside", () => assert.equal(neighbor(box(0, 0), [["aside", box(150, 150)], ["ahead", box(400, 0)]], right), "ahead"));
  test("ignores what is far off the direction", () => assert.equal(neighbor(box(0, 0), [["aside", box(50, 300)]], right), undefined));
  test("ignores what is level", () => assert.equal(neighbor(box(0, 0), [["level", box(0, 300)]], right), undefined));
});

describe("nearestLine", () => {
  test("takes the closest pair", () => assert.deepEqual(nearestLine([0, 50, 100], [47, 108], 5), { by: -3, line: 47 }));
  test("takes none beyond the distance", () => assert.equal(nearestLine([0], [6], 5), undefined));
  test("takes an exact match", () => assert.deepEqual(nearestLine([0, 10], [3, 10], 5), { by: 0, line: 10 }));
});
