// "+6 optional" shows ports that are neither connected nor required.
import { onClick } from "../listen.ts";
import { asShown, canvas, flowPath } from "./canvas.ts";
import { fetchPart } from "./requests.ts";

onClick(document, "[data-more-ports]", (button) => void all(button.closest<HTMLElement>("article")!.dataset.id!));

/** all requests a rendering of the node with all ports. */
async function all(node: string): Promise<void> {
  const r = await fetchPart(asShown(`${flowPath}/face?node=${encodeURIComponent(node)}`));
  if (r?.ok) canvas.insides(await r.text());
}
