// The pages and actions of the command palette, and the search on the server.
import type { Choice } from "./chooser.ts";

/** Place is a page that the palette links to. */
export type Place = [title: string, path: string, icon: string];

export const pages: Place[] = [
  ["Flows", "/flows", "workflow"], ["Runs", "/runs", "history"], ["Keys", "/keys", "key-round"], ["Deliveries", "/deliveries", "webhook"], ["Usage", "/usage", "chart-no-axes-column"],
  ["Credentials", "/credentials", "lock"], ["Models", "/models", "boxes"], ["Members", "/settings/members", "users"], ["Settings", "/settings", "settings"], ["Documentation", "/docs", "book-open"],
];

export const actions: Place[] = [
  ["New flow from a template", "/flows/templates", "plus"], ["Import a flow", "/flows/import", "upload"], ["Create an API key", "/keys/new", "key-round"], ["Connect a model provider", "/credentials", "plug"],
  ["Change password", "/password", "lock"],
];

/** find searches flows, nodes, runs (by ID) and documentation on the server. */
export async function find(words: string): Promise<Choice[]> {
  const r = await fetch(`/find?q=${encodeURIComponent(words)}`, { headers: { accept: "application/json" } }).catch(() => undefined);
  if (!r?.ok || r.redirected) return [];
  const { items } = (await r.json()) as { items: { title: string; note?: string; heading: string; icon: string; href: string }[] };
  return items.map((i) => ({ title: i.title, note: i.note, heading: i.heading, icon: i.icon, run: () => location.assign(i.href) }));
}
