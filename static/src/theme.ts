// Light, dark or as the system. The server puts the choice on <html> from the
// cookie, so that no page flashes; the form of buttons also works without this.
// The same buttons, sent by a browser without scripts, post to the server.

const year = 31_536_000; // s

function choose(theme: string): void {
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
  choose(event.submitter.value);
});
