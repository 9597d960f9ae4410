// A menu is <details class="menu">, which opens without a script. This closes it
// on a click elsewhere, on Escape and after a choice, and handles arrow keys.
import { step } from "./arrows.ts";

const open = () => document.querySelectorAll<HTMLDetailsElement>("details.menu[open]");

function items(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(".sheet :is(a, button):not(:disabled)")];
}

/** walk moves the focus in a menu, and reports whether the key does that. */
function walk(menu: HTMLDetailsElement, key: string): boolean {
  const all = items(menu);
  const to = step(key, all.indexOf(document.activeElement as HTMLElement), all.length);
  if (to === undefined) return false;
  all[to]?.focus();
  return true;
}

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  for (const menu of open()) {
    const chosen = menu.contains(target) && target?.closest(".sheet .item");
    if (chosen || !menu.contains(target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  for (const menu of open()) {
    if (event.key === "Escape") {
      menu.open = false;
      menu.querySelector("summary")?.focus();
      event.preventDefault();
    } else if (menu.contains(document.activeElement) && walk(menu, event.key)) {
      event.preventDefault();
    }
  }
});

document.addEventListener("focusin", (event) => {
  for (const menu of open()) if (!menu.contains(event.target as Node)) menu.open = false;
});
