// The command palette of pages without a canvas: pages, actions, and search results
// from the server.
import { choose, type Choice } from "./builder/chooser.ts";
import { score } from "./builder/match.ts";
import { actions, find, pages, type Place } from "./builder/places.ts";

const choicesOf = (list: Place[], heading: string, words: string): { n: number; c: Choice }[] =>
  list.map(([title, path, icon]) => ({ n: score(words, title, heading), c: { title, heading, icon, run: () => location.assign(path) } })).filter((x) => x.n);

/** open shows the palette. */
export const open = (): void => choose({
  label: "Search flows, nodes, runs, pages and docs", placeholder: "Search flows, nodes, pages and docs, or paste a run ID…", none: "No matches.", more: find,
  choices: (words) => {
    const all = [...choicesOf(pages, "Go to", words), ...choicesOf(actions, "Actions", words)];
    return (words.trim() ? all.filter((x) => x.n > 2).sort((a, b) => b.n - a.n) : all).map((x) => x.c);
  },
});
