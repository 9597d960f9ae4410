// What is loaded after the canvas is ready, see later.ts.
import "./panes_css.ts";
import "./fill.ts";
import "./rename.ts";
import "./collected.ts";
import "./sources.ts";
import "../inspector/untouched.ts";
import "../running/result.ts";
import "../versions/first.ts";
import "./asked.ts";
import "./replaced.ts";
export { showMenu } from "./menu.ts";
export { open } from "./sheet.ts";
export { show as showWire } from "../running/wire.ts";
