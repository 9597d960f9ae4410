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
import { builder } from "./builder.ts";

const parts: (Promise<unknown> | undefined)[] = [builder, import("./press.ts"), import("./early.ts")];
if (document.querySelector("[data-moved]")) parts.push(import("./moved.ts"));
if (!builder && document.getElementById("flow-api")) parts.push(import("./api/index.ts"));
if (document.getElementById("run")) parts.push(import("./run.ts"));
if (document.getElementById("runs") || ["/runs", "/deliveries"].includes(location.pathname)) parts.push(import("./runs.ts"));
if (document.getElementById("form-preview")) parts.push(import("./preview.ts"));
if (document.getElementById("schedule")) parts.push(import("./schedule.ts"));
if (document.getElementById("case-grid")) parts.push(import("./case_grid.ts"));
if (document.getElementById("tools-sum")) parts.push(import("./server_tools.ts"));

// Presses that first.ts kept are for listeners that exist now.
void Promise.allSettled(parts).then(() => setTimeout(() => document.dispatchEvent(new Event("page:listens")))); // after htmx, which starts in a timer too
