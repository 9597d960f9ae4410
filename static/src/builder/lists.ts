// What is loaded after the canvas is ready, see later.ts.
import "./sources.ts";
export { pick } from "./picker.ts";
export { all, find } from "./search.ts";
export { open } from "./sheet.ts";
export { show as showWire } from "../running/wire.ts";
