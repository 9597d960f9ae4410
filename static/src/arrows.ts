// Arrow keys in menus.

/** step returns the index that a key moves to in a menu of n items, or undefined for other keys. at is -1 when no item has the focus. */
export function step(key: string, at: number, n: number): number | undefined {
  switch (key) {
    case "ArrowDown": return (at + 1) % n;
    case "ArrowUp": return (at <= 0 ? n : at) - 1;
    case "Home": return 0;
    case "End": return n - 1;
  }
  return undefined;
}
