// The name of the flow: a field that looks like a heading.
import { listen } from "../listen.ts";
import { canvas, whenReady } from "./canvas.ts";

const field = document.querySelector<HTMLInputElement>("input#flow-name");

/** show writes the name to the field and the title of the window, but not while the user edits it. */
function show(): void {
  const { name } = canvas.draft;
  if (field && document.activeElement !== field) field.value = name;
  document.title = `${name} · Sluice`;
}

const rename = () => { if (field!.value.trim()) field!.form!.requestSubmit(); else field!.value = canvas.draft.name; };
field?.addEventListener("change", rename);
if (field && field.value !== field.defaultValue && document.activeElement !== field) void whenReady.then(rename); // typed before this script was loaded
field?.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { field.value = canvas.draft.name; canvas.keys.focus(undefined); }
  if (e.key === "Enter") { e.preventDefault(); field.blur(); canvas.keys?.focus(undefined); }
});
// A new flow asks for its name, but not on a touch screen, where the keyboard would cover the flow.
if (field?.value === "Untitled flow" && matchMedia("(pointer: fine)").matches) void whenReady.then(() => {
  if (document.activeElement && document.activeElement !== document.body && !document.activeElement.matches("main, [role=application]")) return;
  field.focus();
  field.select();
});
listen(canvas, "canvas:ops canvas:remote canvas:history", show);
