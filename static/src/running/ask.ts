// Requests of the builder that want a part of a page.
import { complain, moved, reason } from "../builder/refused.ts";

const part = { "HX-Request": "true", "HX-Request-Type": "partial" };

/** ask sends a request for a part; what went wrong is said in a toast. Answers of a form (422) are answers. */
export async function ask(path: string, body?: BodyInit): Promise<Response | undefined> {
  let r: Response;
  try {
    r = await fetch(path, { method: body === undefined ? "GET" : "POST", headers: part, body });
  } catch {
    complain("Sluice does not answer. Check the connection and try again; what you typed is still here.");
    return undefined;
  }
  if (moved(r)) return undefined;
  if (r.ok || r.status === 422) return r;
  complain(reason(r) ?? usual(r));
  return undefined;
}

/** usual is said of a refusal that brings no sentence of its own. */
function usual(r: Response): string {
  return r.status >= 500 ? "Something broke on our side. Nothing that was saved is lost; try again." : "This could not be done. Load the page again and try once more.";
}
