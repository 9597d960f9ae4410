// Listening to custom events, and to clicks by delegation.

/**
 * listen calls act with the detail of each event of these names, which are
 * separated by spaces. The type of the detail is trusted, as with
 * addEventListener; canvas/README.md lists the event details of the canvas.
 */
export function listen<T>(target: EventTarget, names: string, act: (detail: T, e: Event) => void): void {
  for (const name of names.split(" ")) target.addEventListener(name, (e) => act((e as CustomEvent<T>).detail, e));
}

/**
 * onClick calls act for each click on an element that matches a selector, or
 * inside of one. One listener on a root that stays serves elements that the
 * server replaces, and those that it adds later.
 */
export function onClick<T extends HTMLElement = HTMLElement>(root: EventTarget, selector: string, act: (el: T, e: MouseEvent) => void): void {
  root.addEventListener("click", (e) => {
    const el = e.target instanceof Element && e.target.closest<T>(selector);
    if (el) act(el, e as MouseEvent);
  });
}
