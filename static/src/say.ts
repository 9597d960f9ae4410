/** say announces a sentence to screen readers. */
export function say(text: string): void {
  const region = document.getElementById("live");
  if (!region) return;
  region.textContent = "";
  // Without clearing it first, an equal text would not be announced again.
  requestAnimationFrame(() => (region.textContent = text));
}
