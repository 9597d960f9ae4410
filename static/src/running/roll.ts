// Counts the numbers of a new result up from zero, once.

const time = 500; // ms

/** roll counts the large numbers in an element up. People who prefer less motion see the number at once. */
export function roll(place: HTMLElement): void {
  if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const el of place.querySelectorAll<HTMLElement>(".result-answer .scalar.number")) {
    const text = el.textContent.trim(), end = Number(text.replaceAll(",", ""));
    if (!Number.isFinite(end) || end === 0) continue;
    const digits = text.split(".")[1]?.length ?? 0, begin = performance.now();
    const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: text.includes(",") });
    const step = (now: number): void => {
      const part = Math.min((now - begin) / time, 1);
      el.textContent = part < 1 ? format.format(end * (1 - (1 - part) ** 3)) : text;
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
