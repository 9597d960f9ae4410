// <time datetime data-ago> shows how long ago something was and is kept up to
// date; its title is the moment in the reader's own time zone.
import { ago } from "./ago.ts";

const full = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });

function update(element: HTMLTimeElement): void {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const text = ago(at, Date.now());
  if (text && element.textContent !== text) element.textContent = text;
  element.title = full.format(at);
}

function updateAll(): void {
  if (!document.hidden) document.querySelectorAll<HTMLTimeElement>("time[data-ago]").forEach(update);
}

// The server shows planned times in the reader's time zone.
const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes(`zone=${zone}`)) document.cookie = `zone=${zone}; path=/; max-age=31536000; SameSite=Lax`;

updateAll();
window.setInterval(updateAll, 30_000);
document.addEventListener("visibilitychange", updateAll);
document.addEventListener("htmx:after:swap", updateAll);
