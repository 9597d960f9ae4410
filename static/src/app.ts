// The script of every page. Pages work without it; it adds partial updates
// (htmx), tabs (Basecoat), menus, copy buttons, toasts and the theme. The canvas
// is loaded only on pages that have one.
import "htmx.org/dist/htmx.esm.js";
import "basecoat-css/basecoat";
import "basecoat-css/tabs";
import "./copy.ts";
import "./dialogs.ts";
import "./find.ts";
import "./keys.ts";
import "./menus.ts";
import "./search.ts";
import "./tabs.ts";
import "./theme.ts";
import "./times.ts";
import "./toasts.ts";
import "./canvas.ts";

void import("./press.ts");
void import("./early.ts");
if (document.getElementById("run")) void import("./run.ts");
if (document.getElementById("runs") || ["/runs", "/deliveries"].includes(location.pathname)) void import("./runs.ts");
if (document.getElementById("form-preview")) void import("./preview.ts");
if (document.getElementById("schedule")) void import("./schedule.ts");
if (document.getElementById("case-grid")) void import("./case_grid.ts");
if (document.getElementById("tools-sum")) void import("./server_tools.ts");
