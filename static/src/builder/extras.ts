// What is loaded after the canvas is ready, see later.ts.
import "./sources.ts";
import "./asked.ts";
export { showMenu } from "./menu.ts";
export { open } from "./sheet.ts";
export { show as showWire } from "../running/wire.ts";
