// Small texts that the browser keeps: settings in localStorage, what belongs to
// one tab (its history, its unsaved changes) in sessionStorage.
//
// Every access can throw: a quota may be used up, and with cookies blocked even
// reading window.localStorage is a SecurityError. Nothing stored here is needed
// for correctness, so failures are ignored and read as "nothing stored".

type Area = "localStorage" | "sessionStorage";

/** load returns a stored text, or "". */
export function load(area: Area, key: string): string {
  try { return globalThis[area].getItem(key) ?? ""; } catch { return ""; }
}

/** loadJSON returns a stored value, or undefined. The type is trusted: only store writes under these keys. */
export function loadJSON<T>(area: Area, key: string): T | undefined {
  try { return JSON.parse(load(area, key)) as T; } catch { return undefined; }
}

/** store keeps a text; "" removes it. */
export function store(area: Area, key: string, text: string): void {
  try {
    if (text) globalThis[area].setItem(key, text);
    else globalThis[area].removeItem(key);
  } catch { /* full or forbidden */ }
}
