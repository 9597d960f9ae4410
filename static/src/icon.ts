const svg = "http://www.w3.org/2000/svg";

/** Makes an icon of the sprite, whose address the page's <body> carries. */
export function icon(name: string): SVGSVGElement {
  const element = document.createElementNS(svg, "svg");
  element.setAttribute("class", "icon");
  element.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(svg, "use");
  use.setAttribute("href", `${document.body.dataset.icons}#${name}`);
  element.append(use);
  return element;
}
