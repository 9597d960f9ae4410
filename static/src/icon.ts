const svg = "http://www.w3.org/2000/svg";

/** icon returns an icon of the sprite, whose URL is an attribute of <body>. */
export function icon(name: string): SVGSVGElement {
  const element = document.createElementNS(svg, "svg");
  element.setAttribute("class", "icon");
  element.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(svg, "use");
  use.setAttribute("href", `${document.body.dataset.icons}#${name}`);
  element.append(use);
  return element;
}
