import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { enclosing, middle, nearestLine, neighbor, snap, type Box } from "./geometry.ts";

const box = (x: number, y: number, width = 100, height = 40): Box => ({ x, y, width, height });

test("snap rounds to the grid", () => assert.deepEqual([4, 5, 14.9, -14.9].map(snap), [0, 10, 10, -10]));
test("middle returns the center", () => assert.deepEqual(middle(box(10, 20)), { x: 60, y: 40 }));

describe("enclosing", () => {
  test("is undefined for no boxes", () => assert.equal(enclosing([]), undefined));
  test("returns a single box unchanged", () => assert.deepEqual(enclosing([box(1, 2)]), box(1, 2)));
  test("encloses all boxes", () => assert.deepEqual(enclosing([box(0, 0), box(-50, 100, 10, 10), box(200, 20)]), { x: -50, y: 0, width: 350, height: 110 }));
});

describe("neighbor", () => {
  const right = { x: 1, y: 0 }, up = { x: 0, y: -1 };
  const others: [string, Box][] = [["near", box(200, 0)], ["far", box(500, 0)], ["above", box(0, -200)], ["behind", box(-200, 0)]];
  test("returns the nearest box in the direction", () => assert.equal(neighbor(box(0, 0), others, right), "near"));
  test("works upwards", () => assert.equal(neighbor(box(0, 0), others, up), "above"));
  test("prefers a box straight ahead to a nearer one at the side", () => assert.equal(neighbor(box(0, 0), [["aside", box(150, 150)], ["ahead", box(400, 0)]], right), "ahead"));
  test("ignores boxes far off the direction", () => assert.equal(neighbor(box(0, 0), [["aside", box(50, 300)]], right), undefined));
  test("ignores boxes across the direction", () => assert.equal(neighbor(box(0, 0), [["level", box(0, 300)]], right), undefined));
});

describe("nearestLine", () => {
  test("returns the closest pair", () => assert.deepEqual(nearestLine([0, 50, 100], [47, 108], 5), { by: -3, line: 47 }));
  test("returns undefined beyond the distance", () => assert.equal(nearestLine([0], [6], 5), undefined));
  test("prefers an exact match", () => assert.deepEqual(nearestLine([0, 10], [3, 10], 5), { by: 0, line: 10 }));
});
