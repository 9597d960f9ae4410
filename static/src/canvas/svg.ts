/** svg creates an element in the SVG namespace. */
export function svg(name: string, attributes: Record<string, string> = {}): SVGElement {
  const el = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, v);
  return el;
}
