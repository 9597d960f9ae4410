import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainCell, readTable, safeCell, writeTable } from "./tsv.ts";

const vectors = JSON.parse(readFileSync("testdata/tsv.json", "utf8")) as { cases: { text: string; rows: string[][] }[]; written: { text: string; rows: string[][] }[]; copied: { cell: string; safe: string }[] };

for (const { text, rows } of vectors.cases) test(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(readTable(text), rows));
for (const { text, rows } of vectors.written) {
  test(`writes ${JSON.stringify(text)}`, () => {
    assert.equal(writeTable(rows), text);
    assert.deepEqual(readTable(text), rows);
  });
}
for (const { cell, safe } of [...vectors.copied, { cell: "'=1", safe: "''=1" }, { cell: "''-", safe: "'''-" }]) {
  test(`copies ${JSON.stringify(cell)}`, () => {
    assert.equal(safeCell(cell), safe);
    assert.equal(plainCell(safe), cell);
  });
}
