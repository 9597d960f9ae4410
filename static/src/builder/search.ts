// Ctrl+K searches commands, nodes and pages; Ctrl+F only nodes.
import { canvas, flowPath } from "./canvas.ts";
import { choose, type Choice } from "./chooser.ts";
import { commands, keysOfCommand } from "./commands.ts";
import { kindOf } from "./kinds.ts";
import { score } from "./match.ts";
import { jump } from "./jump.ts";

const most = 60; // items shown at most
/** nodes returns the nodes that match, with their scores. acts and places do the same for commands and pages. */
function nodes(words: string): { n: number; c: Choice }[] {
  return canvas.keys.order().map((id) => {
    const node = canvas.draft.nodes.get(id)!, k = kindOf(node.kind), title = canvas.scene.title(id);
    return { n: score(words, title, id, k?.title ?? node.kind, texts(node.config)), c: { title, note: k?.title ?? node.kind, heading: "Nodes", icon: k?.icon ?? "circle", word: k?.word, run: () => jump(id) } };
  }).filter((x) => x.n);
}

/** texts returns the texts of a config, so that a node can be found by its prompt. */
function texts(config: Record<string, unknown>): string { return Object.values(config).filter((v) => typeof v === "string").join(" ").slice(0, 2000); }

const first = ["run", "publish", "palette", "find", "tidy"]; // what people want most stands first, the rest as it was registered
const rank = (name: string): number => (first.indexOf(name) + 1) || first.length + 1;

function acts(words: string): { n: number; c: Choice }[] {
  return commands().filter((c) => !["commands", "menu"].includes(c.name)).sort((a, b) => rank(a.name) - rank(b.name))
    .map((c) => ({ n: score(words, c.title, c.hint ?? "", c.name), c: { title: c.title, note: c.hint, heading: "Commands", icon: c.icon ?? "chevron-right", keys: keysOfCommand(c), run: () => c.run() } })).filter((x) => x.n);
}

const pages: [title: string, path: string, icon: string][] = [
  ["Flows", "/flows", "workflow"], ["Runs", "/runs", "history"], ["Versions of this flow", `${flowPath}/versions`, "git-branch"], ["Settings of this flow", `${flowPath}/settings`, "settings"],
  ["Credentials", "/credentials", "key-round"], ["Models", "/models", "boxes"], ["Usage", "/usage", "chart-no-axes-column"], ["Settings", "/settings", "settings"],
];

function places(words: string): { n: number; c: Choice }[] {
  return pages.map(([title, path, icon]) => ({ n: score(words, title, "page go to"), c: { title, heading: "Go to", icon, run: () => location.assign(path) } })).filter((x) => x.n);
}

/** ranked merges the lists: by score while searching, or else in their order and with headings. */
function ranked(words: string, ...lists: { n: number; c: Choice }[][]): Choice[] {
  if (!words.trim()) return lists.flat().map((x) => x.c).slice(0, most);
  return lists.flat().sort((a, b) => b.n - a.n).map((x) => ({ ...x.c, heading: "" })).slice(0, most);
}

/** all searches everything; find only the nodes. */
export const all = (): void => choose({ label: "Search commands, nodes and pages", placeholder: "Type a command or search…", none: "No matches.", choices: (w) => ranked(w, acts(w), nodes(w), places(w)), more: (w) => import("./places.ts").then((p) => p.found(w)) });
export const find = (): void => choose({ label: "Find a node", placeholder: "Name, kind or setting…", none: "No matches.", choices: (w) => ranked(w, nodes(w)).map((c) => ({ ...c, heading: "" })) });
