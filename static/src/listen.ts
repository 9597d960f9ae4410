// Custom events: of the canvas, of the page and of a run's stream.

/**
 * listen calls act with the detail of each event of these names, which are
 * separated by spaces. The type of the detail is trusted, as with
 * addEventListener; canvas/README.md lists the details of the canvas.
 */
export function listen<T>(target: EventTarget, names: string, act: (detail: T, e: Event) => void): void {
  for (const name of names.split(" ")) target.addEventListener(name, (e) => act((e as CustomEvent<T>).detail, e));
}
