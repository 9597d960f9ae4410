// Requests for parts of the inspector.
import { flowPath } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { showError, redirected, reason } from "../builder/errors.ts";

export const nodePath = (node: string): string => `${flowPath}/node/${encodeURIComponent(node)}`;

/** ask sends a request as htmx would, and shows errors in a toast. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response | undefined> {
  try {
    const r = await fetch(path, { ...init, headers: { "HX-Request": "true", "HX-Request-Type": "partial", ...init.headers } });
    if (!r.ok && r.status !== 404) refused(r);
    return r;
  } catch { return undefined; }
}

function refused(r: Response): void {
  const said = redirected(r) ? undefined : reason(r);
  if (said) showError(said);
}

/** fragment returns the first element of a response. */
export async function fragment(r: Response | undefined): Promise<HTMLElement | undefined> {
  const text = r?.ok ? await r.text().catch(() => "") : ""; // aborted for another node
  return text ? (html(text).firstElementChild as HTMLElement) : undefined;
}
