// <button commandfor="id" command="show-modal"> opens a <dialog>. Browsers from
// 2025 on do that natively; this is for older ones. A click outside a dialog
// closes it, unless something was typed in it.

if (!("commandForElement" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button[commandfor]") : null;
    const dialog = document.getElementById(button?.getAttribute("commandfor") ?? "");
    if (!(dialog instanceof HTMLDialogElement)) return;
    if (button?.getAttribute("command") === "show-modal") dialog.showModal();
    if (button?.getAttribute("command") === "close") dialog.close();
  });
}

function typed(dialog: HTMLDialogElement): boolean {
  const fields = dialog.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input:not([type=hidden], [type=checkbox], [type=radio]), textarea");
  return [...fields].some((f) => f.value !== f.defaultValue);
}

document.addEventListener("click", (event) => {
  const dialog = event.target;
  if (!(dialog instanceof HTMLDialogElement) || !dialog.matches(".dialog")) return;
  const box = dialog.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (!inside && !typed(dialog)) dialog.close();
});
