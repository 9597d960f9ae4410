// The builder around the canvas. Each part registers its own listeners; this file
// only loads them.
import "./commands.ts";
import "./state.ts";
import "./notes.ts";
import "./panes.ts";
import "./jump.ts";
import "./palette.ts";
import "./later.ts";
import "./actions.ts";
import "./bar.ts";
import "./problems.ts";
import "./name.ts";
import "./ports.ts";
import "./live.ts";
import "../running/index.ts";
import "../versions/index.ts";
import "../inspector/index.ts";
