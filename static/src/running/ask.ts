// Requests while running a flow.
import { fetchPart, reason, redirected } from "../builder/requests.ts";
import { toast } from "../toasts.ts";

/** ask requests a part of a page and shows errors in a toast. A form with errors (422) is returned like a success. */
export async function ask(path: string, body?: BodyInit): Promise<Response | undefined> {
  const r = await fetchPart(path, { method: body === undefined ? "GET" : "POST", body });
  if (!r) toast("Can't reach Sluice. Check your connection and try again. What you typed is kept.", "bad");
  if (!r || redirected(r)) return undefined;
  if (r.ok || r.status === 422) return r;
  toast(reason(r) ?? usual(r), "bad");
  return undefined;
}

/** usual returns the message for an error response that has none. */
function usual(r: Response): string {
  return r.status >= 500 ? "Something went wrong on the server. Saved work is safe. Try again." : "That didn't work. Reload the page and try again.";
}
