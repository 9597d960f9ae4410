// Requests for parts of a page, and the errors that the server sends back.

/** fetchPart sends a request with htmx's headers, for which the server renders only a part of the page. undefined: no response, or aborted. */
export async function fetchPart(path: string, init: RequestInit = {}): Promise<Response | undefined> {
  try {
    return await fetch(path, { ...init, headers: { "HX-Request": "true", "HX-Request-Type": "partial", ...init.headers } });
  } catch { return undefined; }
}

/** redirected follows a redirect, such as to the sign-in page after the session expired, and reports whether there was one. */
export function redirected(r: Response): boolean {
  const to = r.headers.get("HX-Redirect");
  if (to) location.assign(to);
  return !!to;
}

/** reason returns the message of an error response, if it has one. It is in the header that shows a toast after htmx's own requests. */
export function reason(r: Response): string | undefined {
  try {
    return (JSON.parse(r.headers.get("HX-Trigger") ?? "") as { toast?: { text?: string } }).toast?.text || undefined;
  } catch { return undefined; }
}
