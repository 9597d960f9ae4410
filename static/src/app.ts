// The script of every page. Pages work without it; it makes them quicker:
// swaps (htmx), tabs (Basecoat), menus that close, copies, toasts, theme. The
// canvas comes only where there is one.
import "htmx.org/dist/htmx.esm.js";
import "basecoat-css/basecoat";
import "basecoat-css/tabs";
import "./copy.ts";
import "./dialogs.ts";
import "./keys.ts";
import "./menus.ts";
import "./runs.ts";
import "./search.ts";
import "./theme.ts";
import "./times.ts";
import "./toasts.ts";
import "./canvas.ts";
import "./builder.ts";
