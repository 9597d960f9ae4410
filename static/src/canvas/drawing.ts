// What the first paint does not need, which shows edges as curves. It is loaded right after it.
export { align } from "./align.ts";
export { offer } from "./choice.ts";
export { Clipboard } from "./clipboard.ts";
export { detour, lanes, rounded } from "./detour.ts";
export { Guides } from "./guides.ts";
export { arrange } from "./layout.ts";
export { Minimap } from "./minimap.ts";
export { reorder } from "./order.ts";
export { makeRoom } from "./room.ts";
