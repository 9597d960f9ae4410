// The dialog of a schedule: modal, with the next times while people type. A change of the phrase
// replaces the fields, and the other way round.
const dialog = document.querySelector<HTMLDialogElement>("#schedule")!;
const form = dialog.querySelector<HTMLFormElement>("#schedule-form")!;
const back = dialog.dataset.back!;

dialog.removeAttribute("open"); // close() would raise the event of the end
dialog.showModal();
const first = dialog.querySelector<HTMLInputElement>("[aria-invalid]") ?? dialog.querySelector<HTMLInputElement>("#schedule-words");
first?.focus();
first?.select();
dialog.addEventListener("close", () => location.assign(back));

let timer = 0, pending: AbortController | undefined;

async function preview(edited: string): Promise<void> {
  pending?.abort();
  pending = new AbortController();
  const body = new URLSearchParams([...new FormData(form)] as [string, string][]);
  body.set("edited", edited);
  const answer = await fetch(form.dataset.preview!, { method: "POST", body, signal: pending.signal, headers: { "HX-Request": "true" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of page.querySelectorAll("[data-part]")) document.getElementById(part.id)?.replaceWith(part);
}

form.addEventListener("input", (event) => {
  const name = (event.target as HTMLInputElement).name;
  if (name === "name") return;
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void preview(name === "phrase" ? "phrase" : "fields").catch(() => undefined), 150);
});
