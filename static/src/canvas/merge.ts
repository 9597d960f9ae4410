// Merges two edits of one text.

/** Span is the part of a text that an edit replaced: from, to, and the new text. */
type Span = { from: number; to: number; text: string };

/** span returns the shortest replacement that changes one text to another. */
export function span(was: string, is: string): Span {
  const most = Math.min(was.length, is.length);
  let from = 0, end = 0;
  while (from < most && was[from] === is[from]) from++;
  while (end < most - from && was[was.length - 1 - end] === is[is.length - 1 - end]) end++;
  return { from, to: was.length - end, text: is.slice(from, is.length - end) };
}

/**
 * mergeText applies two edits of a text, or returns undefined if both replaced the same
 * part. Names without a space are never merged. Of two texts that were inserted at the same place, mine comes first.
 */
export function mergeText(base: string, mine: string, theirs: string): string | undefined {
  if (mine === theirs || theirs === base) return mine;
  if (mine === base) return theirs;
  if (!/\s/.test(mine) || !/\s/.test(theirs)) return undefined; // a name, such as of a model
  const a = span(base, mine), b = span(base, theirs), apart = a.to <= b.from || b.to <= a.from;
  if (!apart) return undefined;
  const [first, last] = a.from < b.from || (a.from === b.from && a.to <= b.to) ? [a, b] : [b, a];
  return base.slice(0, first.from) + first.text + base.slice(first.to, last.from) + last.text + base.slice(last.to);
}
