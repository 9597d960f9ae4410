import assert from "node:assert/strict";
import { test } from "node:test";
import { sent, type Turn } from "./turns.ts";

test("sent leaves out replies without a signature, and numbers the pictures", () => {
  const a = new File(["a"], "a.png"), b = new File(["b"], "b.png");
  const turns: Turn[] = [
    { role: "user", text: "1", pictures: [a] }, { role: "assistant", text: "2", signature: "s" },
    { role: "user", text: "3" }, { role: "assistant", text: "half", stopped: true }, { role: "user", text: "", pictures: [b], lost: 1 },
  ];
  assert.deepEqual(sent(turns), {
    turns: [{ role: "user", text: "1", pictures: [0] }, { role: "assistant", text: "2", signature: "s" }, { role: "user", text: "3" }, { role: "user", text: "", pictures: [1] }],
    pictures: [a, b],
  });
});
