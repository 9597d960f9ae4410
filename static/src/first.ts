// Loaded before the page is shown: keeps the last press of a control that only scripts answer, until
// all scripts of the page listen. The press waits for them instead of reaching some and not others.
{
  const answered = "button[type=button]:not([popovertarget], [commandfor]), [role=tab]";
  let pressed: HTMLElement | undefined;
  const keep = (e: Event): void => {
    const control = e.target instanceof Element && e.target.closest<HTMLElement>(answered);
    if (!control) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    pressed = control;
  };
  document.addEventListener("click", keep, true);
  document.addEventListener("page:listens", () => {
    document.removeEventListener("click", keep, true);
    if (pressed?.isConnected) pressed.click();
  }, { once: true });
}
