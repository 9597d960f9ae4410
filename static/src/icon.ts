import { svg } from "./canvas/svg.ts";

/** icon returns an icon of the sprite, whose URL is an attribute of <body>. The text beside an icon says what it means, so screen readers skip it. */
export function icon(name: string): SVGElement {
  const element = svg("svg", { class: "icon", "aria-hidden": "true" });
  element.append(svg("use", { href: `${document.body.dataset.icons}#${name}` }));
  return element;
}
