// Requests of the builder that want a part of a page.
import { complain, moved, reason } from "../builder/refused.ts";

const part = { "HX-Request": "true", "HX-Request-Type": "partial" };

/** ask sends a request for a part; what went wrong is said in a toast. Answers of a form (422) are answers. */
export async function ask(path: string, body?: BodyInit): Promise<Response | undefined> {
  let r: Response;
  try {
    r = await fetch(path, { method: body === undefined ? "GET" : "POST", headers: part, body });
  } catch {
    complain("Can't reach Sluice. Check your connection and try again. What you typed is kept.");
    return undefined;
  }
  if (moved(r)) return undefined;
  if (r.ok || r.status === 422) return r;
  complain(reason(r) ?? usual(r));
  return undefined;
}

/** usual is said of a refusal that brings no sentence of its own. */
function usual(r: Response): string {
  return r.status >= 500 ? "Something went wrong on the server. Saved work is safe. Try again." : "That didn't work. Reload the page and try again.";
}
