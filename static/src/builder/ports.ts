// "6 more inputs" shows ports that are neither connected nor required.
import { onClick } from "../listen.ts";
import { asShown, canvas, flowPath } from "./canvas.ts";
import { fetchPart } from "./requests.ts";

onClick(document, "[data-more-ports]", (button) => void all(button.closest<HTMLElement>("article")!.dataset.id!));

/** all shows all ports of a node, as the server renders it when asked. */
async function all(node: string): Promise<void> {
  const r = await fetchPart(asShown(`${flowPath}/face?node=${encodeURIComponent(node)}`));
  if (r?.ok) canvas.insides(await r.text());
}
