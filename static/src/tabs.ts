// Scrolls rows of tabs that are wider than the screen to the tab of the page.

for (const row of document.querySelectorAll<HTMLElement>(".nav, .tabbar, .categories")) {
  const at = row.querySelector<HTMLElement>("[aria-current]");
  if (!at || row.scrollWidth <= row.clientWidth) continue;
  row.scrollLeft += at.getBoundingClientRect().left - row.getBoundingClientRect().left - (row.clientWidth - at.offsetWidth) / 2;
}
