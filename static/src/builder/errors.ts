// What the server says when it does not do what a part of the builder asked.
import { toast } from "../toasts.ts";

/** redirected follows an answer that leads elsewhere, such as to where one signs in. */
export function redirected(r: Response): boolean {
  const to = r.headers.get("HX-Redirect");
  if (to) location.assign(to);
  return !!to;
}

/** reason is the sentence that came with a refusal, if there is one. */
export function reason(r: Response): string | undefined {
  try {
    return (JSON.parse(r.headers.get("HX-Trigger") ?? "") as { toast?: { text?: string } }).toast?.text || undefined;
  } catch { return undefined; } // it says nothing of its own
}

/** showError shows a refusal. */
export const showError = (text: string): void => toast(text, "bad");
