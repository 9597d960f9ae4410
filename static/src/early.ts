// What people typed or chose before the scripts of the page ran, and what the browser restored when
// the page was loaded again. The page answers it as it answers later changes.

/** changed reports whether a field differs from what the server rendered. */
function changed(field: Element): boolean {
  if (field instanceof HTMLSelectElement) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected));
  if (field instanceof HTMLTextAreaElement) return field.value !== field.defaultValue;
  if (!(field instanceof HTMLInputElement)) return false;
  return field.files ? field.files.length > 0 : field.checked !== field.defaultChecked || field.value !== field.defaultValue;
}

setTimeout(() => { // after htmx, which starts in a timer too
  for (const place of document.querySelectorAll("[data-hx-trigger^=change], [data-hx-trigger^=input]")) {
    const field = place.matches("form") ? [...place.querySelectorAll("input, select, textarea")].find(changed) : changed(place) && place;
    if (field && !place.matches(".htmx-request")) for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
  }
});
