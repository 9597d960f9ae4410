import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chord, shortcuts } from "./shortcuts.ts";

const press = (key: string, modifiers: Partial<KeyboardEvent> = {}, code = ""): string =>
  chord({ key, code, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...modifiers } as KeyboardEvent);

describe("chord", () => {
  for (const [got, want] of [
    [press("a"), "A"], [press("A", { shiftKey: true }), "Shift+A"], [press("z", { ctrlKey: true }), "Ctrl+Z"], [press("z", { metaKey: true }), "Ctrl+Z"],
    [press("Z", { ctrlKey: true, shiftKey: true }), "Ctrl+Shift+Z"], [press("!", { shiftKey: true }, "Digit1"), "Shift+1"], [press("1", { shiftKey: true }, "Digit1"), "Shift+1"],
    [press("0", { ctrlKey: true }, "Digit0"), "Ctrl+0"], [press("?", { shiftKey: true }, "Slash"), "?"], [press("+", { shiftKey: true }, "Equal"), "+"], [press(" "), "Space"],
    [press("Delete", { shiftKey: true }), "Shift+Delete"], [press("ArrowUp", { altKey: true }), "Alt+ArrowUp"],
  ] as const) test(want, () => assert.equal(got, want));
});

test("no two shortcuts share a chord", () => {
  const chords = shortcuts.flatMap((s) => s.chords);
  assert.deepEqual(chords, [...new Set(chords)]);
});
