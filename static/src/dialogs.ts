// <button commandfor="id" command="show-modal"> opens a <dialog>. Browsers from
// 2025 on do that natively; this is for older ones. A click outside a dialog
// closes it, unless something was typed in it.
import { onClick } from "./listen.ts";

if (!("commandForElement" in HTMLButtonElement.prototype)) {
  onClick(document, "button[commandfor]", (button) => {
    const dialog = document.getElementById(button.getAttribute("commandfor")!), command = button.getAttribute("command");
    if (!(dialog instanceof HTMLDialogElement)) return;
    if (command === "show-modal") dialog.showModal();
    if (command === "close") dialog.close();
  });
}

/** typed reports whether a text field of a dialog was changed. */
function typed(dialog: HTMLDialogElement): boolean {
  const fields = dialog.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input:not([type=hidden], [type=checkbox], [type=radio]), textarea");
  return [...fields].some((f) => f.value !== f.defaultValue);
}

document.addEventListener("click", (event) => {
  const dialog = event.target;
  if (!(dialog instanceof HTMLDialogElement) || !dialog.matches(".dialog")) return;
  // A click on the backdrop has the dialog itself as its target, and so has one on the dialog's padding.
  const box = dialog.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (!inside && !typed(dialog)) dialog.close();
});
