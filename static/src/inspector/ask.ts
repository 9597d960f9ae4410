// Requests for parts of the inspector.
import { flowPath } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { fetchPart, reason, redirected } from "../builder/requests.ts";
import { toast } from "../toasts.ts";

export const nodePath = (node: string): string => `${flowPath}/node/${encodeURIComponent(node)}`;

/** ask sends a request as htmx would, and shows errors in a toast. Requests that failed or were aborted return undefined: the inspector is loaded again after the next change. */
export async function ask(path: string, init?: RequestInit): Promise<Response | undefined> {
  const r = await fetchPart(path, init);
  const error = r && !r.ok && r.status !== 404 && !redirected(r) && reason(r);
  if (error) toast(error, "bad");
  return r;
}

/** fragment returns the first element of a response. */
export async function fragment(r: Response | undefined): Promise<HTMLElement | undefined> {
  const text = r?.ok ? await r.text().catch(() => "") : ""; // aborted for another node
  return text ? (html(text).firstElementChild as HTMLElement) : undefined;
}
