import assert from "node:assert/strict";
import { test } from "node:test";
import { placeholderName, withPlaceholder } from "./placeholders.ts";

test("placeholderName turns any text into a valid name", () => {
  for (const [text, want] of [["ticket", "ticket"], ["Which team?", "Which_team"], ["2nd", "n_2nd"], ["__x__", "x"], ["äöü", "n_"], ["a-b c", "a_b_c"]] as const) assert.equal(placeholderName(text), want);
});

test("withPlaceholder inserts at the cursor, or at the end after a space", () => {
  assert.equal(withPlaceholder("", "a"), "{{a}}");
  assert.equal(withPlaceholder("Dear", "a"), "Dear {{a}}");
  assert.equal(withPlaceholder("Dear\n", "a"), "Dear\n{{a}}");
  assert.equal(withPlaceholder("Dear , hi", "a", 5), "Dear {{a}}, hi");
  assert.equal(withPlaceholder("x", "a", 0), "{{a}}x");
});
