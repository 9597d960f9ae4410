// Searching by typing: how well a text matches, and which lines of a menu show.

/**
 * score returns how well words match a title: 5 when it starts with them, 4
 * when one of its words does, 3 when it contains them, 2 when every word is in
 * the title or in more, and 0 for no match. No words match everything with 1.
 */
export function score(words: string, title: string, ...more: string[]): number {
  const q = words.trim().toLowerCase(), t = title.toLowerCase();
  if (!q) return 1;
  if (t.startsWith(q)) return 5;
  if (t.split(/[\s_-]+/).some((w) => w.startsWith(q))) return 4;
  if (t.includes(q)) return 3;
  const rest = more.join(" ").toLowerCase();
  return q.split(/\s+/).every((w) => t.includes(w) || rest.includes(w)) ? 2 : 0;
}

/** ranked returns the items that match, the best first; items of equal score keep their order. */
export function ranked<T>(items: T[], score: (item: T) => number): T[] {
  return items.map((item) => ({ item, n: score(item) })).filter((x) => x.n).sort((a, b) => b.n - a.n).map((x) => x.item);
}

/** withoutEmptySections drops separators (null) that separate nothing: leading, trailing and doubled ones. */
export function withoutEmptySections<T>(items: (T | null)[]): (T | null)[] {
  return items.filter((item, i) => item || (items[i - 1] && items.slice(i + 1).some(Boolean)));
}

/** freeName returns base, or base with the lowest number from 2 on that is not taken. */
export function freeName(base: string, taken: ReadonlySet<unknown>): string {
  let name = base;
  for (let i = 2; taken.has(name); i++) name = `${base}_${i}`;
  return name;
}
