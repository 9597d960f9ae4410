// "6 more inputs" shows ports that are neither connected nor required.
import { asShown, canvas, flowPath } from "./canvas.ts";
import { fetchPart } from "./requests.ts";

document.addEventListener("click", (e) => {
  const button = (e.target as Element).closest<HTMLElement>("[data-more-ports]");
  if (button) void all(button.closest<HTMLElement>("article")!.dataset.id!);
});

/** all shows all ports of a node, as the server renders it when asked. */
async function all(node: string): Promise<void> {
  const r = await fetchPart(asShown(`${flowPath}/face?node=${encodeURIComponent(node)}`));
  if (r?.ok) canvas.insides(await r.text());
}
