// A select of sources beside each unconnected port of the node. It connects ports without
// a pointer, and without leaving the text that contains the {{name}}.
import { canvas, flowPath } from "./canvas.ts";
import { el } from "./dom.ts";
import { fetchPart } from "./requests.ts";

const pane = document.getElementById("inspector")!;
const shownNode = (): string | undefined => pane.querySelector<HTMLElement>(".ins[data-node]")?.dataset.node;

type Offer = { from: string; title: string; type: string };

/** offer fills the selects of the node that is shown; what can be connected depends on the draft. */
async function offer(): Promise<void> {
  const node = shownNode(), empty = () => [...pane.querySelectorAll<HTMLSelectElement>("select[data-sources]")].filter((s) => s.length === 1);
  if (!node || !empty().length) return;
  const r = await fetchPart(`${flowPath}/completions?node=${encodeURIComponent(node)}`);
  if (!r?.ok || shownNode() !== node) return;
  const { completions } = (await r.json()) as { completions: Offer[] };
  for (const s of empty()) s.append(...completions.map((o) => el("option", { value: o.from }, `${o.title} · ${o.type}`)));
}

void offer();
new MutationObserver(() => void offer()).observe(pane, { childList: true, subtree: true });
pane.addEventListener("change", (e) => {
  const s = e.target as HTMLSelectElement, node = shownNode();
  if (!s.matches("select[data-sources]") || !s.value || !node) return;
  e.stopPropagation(); // the select is not a field of the node
  const [from, side] = [canvas.scene.port(s.value, "out"), canvas.scene.port(`${node}.${s.dataset.sources}`, "in")];
  const reason = from && side && canvas.connect.refusalFor(from, side);
  if (reason) { s.value = ""; return canvas.connect.refuse(reason); }
  canvas.commit("Connect", [{ op: "connect", edge: { from: s.value, to: `${node}.${s.dataset.sources}` } }]);
});
