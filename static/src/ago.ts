// Relative times, such as "3 min. ago".

const units: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
const format = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const month = 30 * 86_400; // seconds; beyond it a date says more

/** ago returns the time between two moments in words, or undefined when they are more than 30 days apart. */
export function ago(at: Date, now: number): string | undefined {
  const seconds = (at.getTime() - now) / 1000;
  if (Math.abs(seconds) > month) return undefined;
  if (Math.abs(seconds) < 5) return "now";
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return format.format(Math.trunc(seconds / size), unit);
}
