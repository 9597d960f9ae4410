// Requests for parts of a page while running.
import { showError, redirected, reason } from "../builder/errors.ts";

const part = { "HX-Request": "true", "HX-Request-Type": "partial" };

/** ask requests a part of a page and shows errors in a toast. A form with errors (422) is returned like a success. */
export async function ask(path: string, body?: BodyInit): Promise<Response | undefined> {
  let r: Response;
  try {
    r = await fetch(path, { method: body === undefined ? "GET" : "POST", headers: part, body });
  } catch {
    showError("Can't reach Sluice. Check your connection and try again. What you typed is kept.");
    return undefined;
  }
  if (redirected(r)) return undefined;
  if (r.ok || r.status === 422) return r;
  showError(reason(r) ?? usual(r));
  return undefined;
}

/** usual returns the message for an error response that has none. */
function usual(r: Response): string {
  return r.status >= 500 ? "Something went wrong on the server. Saved work is safe. Try again." : "That didn't work. Reload the page and try again.";
}
