// Names in templates: {{name}} stands for the value of an edge. The server has the
// same rule for the names that it offers (handlers/editor/completions.go).

/** placeholderName turns any text into a name that a template can use. */
export function placeholderName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9_]+/g, "_").replace(/^_+|_+$/g, "");
  return /^[A-Za-z]/.test(name) ? name : `n_${name}`;
}

/** withPlaceholder inserts {{name}} at an offset, or at the end, where a space separates it from what is there. */
export function withPlaceholder(text: string, name: string, at?: number): string {
  const i = at ?? text.length, before = text.slice(0, i), gap = at === undefined && /\S$/.test(before) ? " " : "";
  return `${before}${gap}{{${name}}}${text.slice(i)}`;
}
