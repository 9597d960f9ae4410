// Ctrl+K searches commands, nodes and pages; Ctrl+F only nodes.
import { canvas, flowPath } from "./canvas.ts";
import { choose, type Choice } from "./chooser.ts";
import { commands, keysOfCommand } from "./commands.ts";
import { kindOf } from "./kinds.ts";
import { score } from "./match.ts";
import { jump } from "./jump.ts";

const maxItems = 60; // items shown at most
/** matchingNodes returns the nodes that match the query, with their scores. */
function matchingNodes(words: string): { n: number; c: Choice }[] {
  return canvas.keys.order().map((id) => {
    const node = canvas.draft.nodes.get(id)!, k = kindOf(node.kind), title = canvas.scene.title(id);
    return { n: score(words, title, id, k?.title ?? node.kind, texts(node.config)), c: { title, note: k?.title ?? node.kind, heading: "Nodes", icon: k?.icon ?? "circle", word: k?.word, run: () => jump(id) } };
  }).filter((x) => x.n);
}

/** texts joins the strings of a config, so that search finds a node by its prompt. */
function texts(config: Record<string, unknown>): string { return Object.values(config).filter((v) => typeof v === "string").join(" ").slice(0, 2000); }

const topCommands = ["run", "publish", "palette", "find", "tidy"]; // the most used commands; the others follow in the order of registration
const rank = (name: string): number => (topCommands.indexOf(name) + 1) || topCommands.length + 1;

function matchingCommands(words: string): { n: number; c: Choice }[] {
  return commands().filter((c) => !["commands", "menu"].includes(c.name)).sort((a, b) => rank(a.name) - rank(b.name))
    .map((c) => ({ n: score(words, c.title, c.hint ?? "", c.name), c: { title: c.title, note: c.hint, heading: "Commands", icon: c.icon ?? "chevron-right", keys: keysOfCommand(c), run: () => c.run() } })).filter((x) => x.n);
}

const pages: [title: string, path: string, icon: string][] = [
  ["Flows", "/flows", "workflow"], ["Runs", "/runs", "history"], ["Versions of this flow", `${flowPath}/versions`, "git-branch"], ["Settings of this flow", `${flowPath}/settings`, "settings"],
  ["Credentials", "/credentials", "key-round"], ["Models", "/models", "boxes"], ["Usage", "/usage", "chart-no-axes-column"], ["Settings", "/settings", "settings"],
];

function matchingPages(words: string): { n: number; c: Choice }[] {
  return pages.map(([title, path, icon]) => ({ n: score(words, title, "page go to"), c: { title, heading: "Go to", icon, run: () => location.assign(path) } })).filter((x) => x.n);
}

/** ranked merges the lists: sorted by score for a query, otherwise in order and with headings. */
function ranked(words: string, ...lists: { n: number; c: Choice }[][]): Choice[] {
  if (!words.trim()) return lists.flat().map((x) => x.c).slice(0, maxItems);
  return lists.flat().sort((a, b) => b.n - a.n).map((x) => ({ ...x.c, heading: "" })).slice(0, maxItems);
}

/** searchAll searches commands, nodes and pages; findNode searches only nodes. */
export const searchAll = (): void => choose({ label: "Search commands, nodes and pages", placeholder: "Type a command or search…", none: "No matches.", choices: (w) => ranked(w, matchingCommands(w), matchingNodes(w), matchingPages(w)), more: (w) => import("./places.ts").then((p) => p.find(w)) });
export const findNode = (): void => choose({ label: "Find a node", placeholder: "Name, kind or setting…", none: "No matches.", choices: (w) => ranked(w, matchingNodes(w)).map((c) => ({ ...c, heading: "" })) });
