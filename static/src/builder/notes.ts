// Toasts for rejected edits, and the offer to reconnect after a deletion.
import type { Op } from "../canvas/ops.ts";
import { toast } from "../toasts.ts";
import { canvas } from "./canvas.ts";
import { elsewhere } from "./state.ts";

type Refused = { reason: string; node?: string; by: "canvas" | "server" };

canvas.addEventListener("canvas:refused", (e) => {
  const { reason, node, by } = (e as CustomEvent<Refused>).detail;
  toast(by === "server" ? `${reason} The change was taken back.` : reason, "wait");
  if (by === "server" && node && canvas.scene.elements.has(node)) canvas.selection.set([node]);
});

canvas.addEventListener("canvas:remote", elsewhere);

canvas.addEventListener("canvas:reconnect", (e) => {
  const { ops } = (e as CustomEvent<{ ops: Op[] }>).detail;
  toast("Deleted. What fed it is not connected any more.", "info", { label: "Join the ends", act: () => canvas.commit("Join", ops) });
});
