// Parses the texts of fields into values of the draft. Without a script, the server
// parses the submitted form by the same rules.

/** Reading is a value, nothing (the field is empty), or the reason why the text is invalid. */
export type Reading = { value?: unknown; error?: string };

/** parseNumber reads a decimal number. A leading "+" and a missing zero before the point are accepted. */
export function parseNumber(s: string, whole: boolean): Reading {
  s = s.trim().replace(/^\+/, "").replace(/^\./, "0.");
  if (!s) return {};
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(s)) return { error: `“${s}” is not a number. Use digits, such as 0.5.` };
  if (whole && !Number.isInteger(Number(s))) return { error: `${s} is not a whole number.` };
  return { value: Number(s) };
}

/** parseJSON reads any JSON value. */
export function parseJSON(s: string): Reading {
  if (!s.trim()) return {};
  try { return { value: JSON.parse(s) }; } catch (e) { return { error: `Invalid JSON: ${reason(e as Error)}.` }; }
}

/** reason returns the error message of the browser without the quoted text. */
const reason = (e: Error): string => e.message.replace(/, (\.\.\.)?"[\s\S]*$/, "").replace(/^[A-Z]/, (c) => c.toLowerCase());

/** parseRetry reads the number of attempts and the pause before the first retry, in seconds. */
export function parseRetry(attempts: number | undefined, pause: number | undefined): Reading {
  if (attempts === undefined) return pause ? { error: "Enter the number of attempts (2 or more)." } : {};
  if (attempts < 1 || attempts > 20) return { error: "Attempts must be between 1 and 20." };
  return { value: pause ? { attempts, backoff_s: pause } : { attempts } };
}

/** same reports whether two JSON values are equal; the order of keys does not matter. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((n) => n in b && same((a as Record<string, unknown>)[n], (b as Record<string, unknown>)[n]));
}
