// A menu is <details class="menu">, which opens without a script. This closes it
// on a click elsewhere, on Escape and after a choice, and handles arrow keys.

const open = () => document.querySelectorAll<HTMLDetailsElement>("details.menu[open]");

function items(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(".sheet :is(a, button):not(:disabled)")];
}

function walk(menu: HTMLDetailsElement, key: string): boolean {
  const all = items(menu);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at <= 0 ? all.length : at) - 1, Home: 0, End: all.length - 1 }[key];
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
