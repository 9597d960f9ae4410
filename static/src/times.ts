// <time datetime data-ago> says how long ago something was, and goes on saying
// so; its title is the moment in the reader's own time zone.

const units: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const whole = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });
const month = 30 * 86_400; // s; beyond it the date says more

function ago(at: Date): string | undefined {
  const seconds = (at.getTime() - Date.now()) / 1000;
  if (Math.abs(seconds) > month) return undefined;
  if (Math.abs(seconds) < 5) return "now";
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return words.format(Math.trunc(seconds / size), unit);
}

function tell(element: HTMLTimeElement): void {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const text = ago(at);
  if (text && element.textContent !== text) element.textContent = text;
  element.title = whole.format(at);
}

function tellAll(): void {
  if (!document.hidden) document.querySelectorAll<HTMLTimeElement>("time[data-ago]").forEach(tell);
}

tellAll();
window.setInterval(tellAll, 30_000);
document.addEventListener("visibilitychange", tellAll);
document.addEventListener("htmx:after:swap", tellAll);
