// Small helpers to build elements. Texts are set as text, never as HTML.
import { icon } from "../icon.ts";

type Child = Node | string | undefined | false;

/** el makes an element with attributes and children. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string | undefined> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) e.setAttribute(name, value);
  e.append(...children.filter((c): c is Node | string => c !== undefined && c !== false && c !== ""));
  return e;
}

/** chip is the coloured sign of a kind. */
export function chip(name: string): HTMLElement { return el("span", { class: "chip" }, icon(name)); }

/** keysOf shows chords as keys, in the way of this machine. */
export function keysOf(chord: string): HTMLElement {
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  return el("kbd", {}, mac ? chord.replace("Ctrl+", "⌘").replace("Alt+", "⌥").replace("Shift+", "⇧") : chord);
}

/** html reads what the server rendered into elements. */
export function html(text: string): DocumentFragment {
  const t = document.createElement("template");
  t.innerHTML = text;
  return t.content;
}

/** keep and kept remember a choice in this browser. */
export function keep(name: string, value: string): void { try { localStorage.setItem(`builder:${name}`, value); } catch { /* full or forbidden */ } }
export function kept(name: string): string | null { try { return localStorage.getItem(`builder:${name}`); } catch { return null; } }
