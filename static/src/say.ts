/** Says a sentence to people who listen rather than look. */
export function say(text: string): void {
  const region = document.getElementById("live");
  if (!region) return;
  region.textContent = "";
  // A text that is equal to the last one is only read when it comes anew.
  requestAnimationFrame(() => (region.textContent = text));
}
