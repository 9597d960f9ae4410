// Runs the same edit vectors as the server (testdata/edits), so that an edit has the
// same effect in both places.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Draft, type FlowDocument } from "./model.ts";
import { applyAll, Touched, type Op } from "./ops.ts";

type Vector = { name: string; before?: FlowDocument; ops: Op[]; after?: Partial<FlowDocument>; inverse?: Op[]; error?: object };
type Vectors = { document: FlowDocument; cases: Vector[] };

/** normal returns what JavaScript would write: 1.50 is 1.5, and -0 is 0. */
function normal<T>(v: T): T { return JSON.parse(JSON.stringify(v)) as T; }

/** members returns the document as the server would encode it, with every optional top-level member. */
function members(d: Draft): unknown {
  const { name, description, nodes, edges, groups } = d;
  return normal({ name, description, nodes: [...nodes.values()], edges, groups: [...groups.values()] });
}

const dir = "testdata/edits";
for (const file of readdirSync(dir).sort()) {
  const vectors = normal(JSON.parse(readFileSync(`${dir}/${file}`, "utf8")) as Vectors);
  describe(file, () => {
    for (const v of vectors.cases) test(v.name, () => run(v, vectors.document));
  });
}

function run(v: Vector, shared: FlowDocument): void {
  const draft = new Draft(structuredClone(v.before ?? shared)), before = members(draft);
  const inverse = normal(applyAll(draft, structuredClone(v.ops), new Touched()));
  if (!v.error) { // The canvas undoes an operation that the server rejects, so only the inverse matters.
    assert.deepEqual(members(draft), { ...(before as object), ...v.after });
    assert.deepEqual(inverse, v.inverse);
  }
  applyAll(draft, inverse, new Touched());
  assert.deepEqual(members(draft), before, "the inverse restores the document");
}
