import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readTable, writeTable } from "./tsv.ts";

const vectors = JSON.parse(readFileSync("testdata/tsv.json", "utf8")) as { cases: { text: string; rows: string[][] }[]; written: { text: string; rows: string[][] }[] };

for (const { text, rows } of vectors.cases) test(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(readTable(text), rows));
for (const { text, rows } of vectors.written) {
  test(`writes ${JSON.stringify(text)}`, () => {
    assert.equal(writeTable(rows), text);
    assert.deepEqual(readTable(text), rows);
  });
}
