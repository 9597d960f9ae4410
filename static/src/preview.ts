// The preview of a form beside its settings shows the texts as they are typed.

for (const shown of document.querySelectorAll<HTMLElement>("#form-preview [data-preview]")) {
  const field = document.querySelector<HTMLInputElement | HTMLTextAreaElement>(`#form-settings [name="${shown.dataset.preview ?? ""}"]`);
  field?.addEventListener("input", () => { shown.textContent = field.value.trim() || field.placeholder; });
}
