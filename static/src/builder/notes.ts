// Toasts for rejected edits, and the offer to reconnect after a deletion.
import type { Op } from "../canvas/ops.ts";
import { listen } from "../listen.ts";
import { toast } from "../toasts.ts";
import { canvas } from "./canvas.ts";
import { showRemoteChange } from "./state.ts";

type Refused = { reason: string; node?: string; by: "canvas" | "server" };

listen<Refused>(canvas, "canvas:refused", ({ reason, node, by }) => {
  toast(by === "server" ? `${reason} The change was undone.` : reason, "wait");
  if (by === "server" && node && canvas.scene.elements.has(node)) canvas.selection.set([node]);
});

listen(canvas, "canvas:remote", showRemoteChange);

listen<{ ops: Op[] }>(canvas, "canvas:reconnect", ({ ops }) => {
  toast("Node deleted.", "info", { label: "Reconnect neighbors", act: () => canvas.commit("Reconnect", ops) });
});
