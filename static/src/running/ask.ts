// Requests of the builder that want a part of a page.
import { toast } from "../toasts.ts";

const part = { "HX-Request": "true", "HX-Request-Type": "partial" };

/** ask sends a request for a part; what went wrong is said in a toast. Answers of a form (422) are answers. */
export async function ask(path: string, body?: BodyInit): Promise<Response | undefined> {
  let r: Response;
  try {
    r = await fetch(path, { method: body === undefined ? "GET" : "POST", headers: part, body });
  } catch {
    toast("Sluice does not answer. Check the connection and try again; what you typed is still here.", "bad");
    return undefined;
  }
  const to = r.headers.get("HX-Redirect");
  if (to) { location.assign(to); return undefined; }
  if (r.ok || r.status === 422) return r;
  toast(reason(r), "bad");
  return undefined;
}

function reason(r: Response): string {
  try {
    const said = JSON.parse(r.headers.get("HX-Trigger") ?? "") as { toast?: { text?: string } };
    if (said.toast?.text) return said.toast.text;
  } catch { /* it says nothing of its own */ }
  return r.status >= 500 ? "Something broke on our side. Nothing that was saved is lost; try again." : "This could not be done. Load the page again and try once more.";
}
