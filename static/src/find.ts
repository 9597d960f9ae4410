// Ctrl+K, or the button in the header, opens the command palette. The builder has its own,
// with the commands of the canvas.
import { onClick } from "./listen.ts";

const open = (): void => void import("./palette.ts").then((p) => p.open());

if (document.querySelector(".find")) {
  onClick(document, ".find", open);
  document.addEventListener("keydown", (e) => {
    if (!(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey || e.key.toLowerCase() !== "k" || document.querySelector("dialog:modal")) return;
    e.preventDefault();
    open();
  });
}
