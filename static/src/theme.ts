// Light, dark or system theme. The server sets the class of <html> from the
// cookie, so that pages do not flash. Without scripts the buttons post a form.

const year = 31_536_000; // s

function applyTheme(theme: string): void {
  const root = document.documentElement;
  root.classList.remove("light", "dark");
  if (theme !== "system") root.classList.add(theme);
  const safe = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `theme=${theme}; Path=/; Max-Age=${theme === "system" ? 0 : year}; SameSite=Lax${safe}`;
  for (const b of document.querySelectorAll<HTMLButtonElement>("form[data-theme] button[name=theme]")) {
    b.setAttribute("aria-pressed", String(b.value === theme));
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  if (!form.matches("form[data-theme]") || !(event.submitter instanceof HTMLButtonElement)) return;
  event.preventDefault();
  applyTheme(event.submitter.value);
});
