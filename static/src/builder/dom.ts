// Helpers to build elements. Texts are set as text, never as HTML.
import { load, store } from "../canvas/storage.ts";
import { icon } from "../icon.ts";

type Child = Node | string | undefined | false;

/** el creates an element with attributes and children. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string | undefined> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) e.setAttribute(name, value);
  e.append(...children.filter((c): c is Node | string => c !== undefined && c !== false && c !== ""));
  return e;
}

/** chip returns the colored icon of a kind. */
export function chip(name: string): HTMLElement { return el("span", { class: "chip" }, icon(name)); }

/** keysOf returns a chord as an element, with the symbols of the platform. */
export function keysOf(chord: string): HTMLElement {
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  return el("kbd", {}, mac ? chord.replace("Ctrl+", "⌘").replace("Alt+", "⌥").replace("Shift+", "⇧") : chord);
}

/** html parses HTML that the server rendered. */
export function html(text: string): DocumentFragment {
  const t = document.createElement("template");
  t.innerHTML = text;
  return t.content;
}

/** keep stores a setting of the builder in this browser; "" removes it. */
export function keep(name: string, value: string): void { store("localStorage", `builder:${name}`, value); }

/** kept returns a stored setting of the builder, or "". */
export function kept(name: string): string { return load("localStorage", `builder:${name}`); }
