// Asks the server for a part of the inspector.
import { flowPath } from "../builder/canvas.ts";
import { html } from "../builder/dom.ts";
import { complain, moved, reason } from "../builder/refused.ts";

export const nodePath = (node: string): string => `${flowPath}/node/${encodeURIComponent(node)}`;

/** ask sends a request as htmx would; what was refused is said in a toast. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response | undefined> {
  try {
    const r = await fetch(path, { ...init, headers: { "HX-Request": "true", "HX-Request-Type": "partial", ...init.headers } });
    if (!r.ok && r.status !== 404) refused(r);
    return r;
  } catch { return undefined; }
}

function refused(r: Response): void {
  const said = moved(r) ? undefined : reason(r);
  if (said) complain(said);
}

/** fragment is an answer's first element. */
export async function fragment(r: Response | undefined): Promise<HTMLElement | undefined> {
  const text = r?.ok ? await r.text().catch(() => "") : ""; // given up half way, for another node
  return text ? (html(text).firstElementChild as HTMLElement) : undefined;
}
