// The page on which tools of an MCP server are chosen: a search, a filter by effect, and what the chosen tools cost. Rows that are
// hidden are saved like the others.
const list = document.querySelector<HTMLElement>("#tools .server-tools")!;
const rows = [...list.querySelectorAll<HTMLElement>(":scope > li")];
const search = document.querySelector<HTMLInputElement>("#tool-search");
const effect = document.querySelector<HTMLSelectElement>("#tool-effect");
const none = document.querySelector<HTMLElement>("#tools .none");
const sum = document.querySelector<HTMLElement>("#tools-sum");

function show(): void {
  const words = search?.value.toLowerCase().split(/\s+/) ?? [];
  let shown = 0;
  for (const row of rows) {
    const text = row.querySelector(".grow")?.textContent?.toLowerCase() ?? "";
    const chosen = row.querySelector("select")?.value;
    row.hidden = !words.every((word) => text.includes(word)) || Boolean(effect?.value) && chosen !== effect?.value;
    if (!row.hidden) shown++;
  }
  if (none) none.hidden = shown > 0;
}

function count(): void {
  const on = rows.filter((row) => row.querySelector<HTMLInputElement>("input[name=tool]")?.checked);
  const tokens = on.reduce((all, row) => all + Number(row.dataset.tokens), 0);
  if (sum && rows.every((row) => row.querySelector("input[name=tool]"))) sum.textContent = `${on.length} of ${rows.length} tools · ${tokens.toLocaleString("en-US")} tokens per turn`;
}

search?.addEventListener("input", show);
effect?.addEventListener("change", show);
list.addEventListener("change", count);
