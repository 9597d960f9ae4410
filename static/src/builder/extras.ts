// The parts that later.ts loads after the canvas is ready.
import "./api.ts";
import "./outline.ts";
import "./panes_css.ts";
import "./fill.ts";
import "./rename.ts";
import "./child.ts";
import "./collected.ts";
import "./sources.ts";
import "../inspector/untouched.ts";
import "../running/result.ts";
import "../running/data.ts";
import "../running/runs.ts";
import "../versions/first.ts";
import "./linked_node.ts";
import "./replaced.ts";
export { showMenu } from "./menu.ts";
export { open } from "./sheet.ts";
