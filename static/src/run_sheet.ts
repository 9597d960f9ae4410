// On phones, the step that was chosen in the list opens as a sheet over the page. It closes with its
// button, Escape, a tap beside it, or a swipe down. Without scripts it stands below the list.

const small = window.matchMedia("(max-width: 720px)");
const swipe = 90; // px that closes the sheet

let shown = false;
let scrim: HTMLElement | undefined;

function card(): HTMLElement | null { return document.getElementById("step"); }

/** background returns what is behind the sheet. */
function background(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("body > :not(main, .step-scrim, #live, #toasts), main > :not(#run), #run > :not(.run-work), .run-work > :not(#step)")];
}

/** apply makes the card a dialog. An update of the page renders it without, so this is repeated. */
function apply(on: boolean): void {
  const el = card();
  for (const other of background()) other.inert = on;
  document.body.classList.toggle("step-sheet", on);
  if (!el) return;
  if (on) { el.role = "dialog"; el.ariaModal = "true"; } else { el.removeAttribute("role"); el.ariaModal = null; }
  el.style.translate = "";
}

function close(): void {
  if (!shown) return;
  shown = false;
  scrim?.remove();
  apply(false);
  document.querySelector<HTMLElement>(".step.current .row")?.focus({ preventScroll: true });
}

function open(): void {
  if (shown || !small.matches || !card()) return;
  shown = true;
  if (!scrim?.isConnected) {
    scrim = document.createElement("div");
    scrim.className = "step-scrim";
    scrim.addEventListener("click", close);
    document.body.append(scrim);
  }
  apply(true);
  card()?.scrollTo({ top: 0 });
  card()?.querySelector<HTMLElement>("[data-sheet-close]")?.focus({ preventScroll: true });
}

document.addEventListener("click", (e) => {
  if (!(e.target instanceof Element)) return;
  if (e.target.closest("[data-sheet-close]")) close();
  // all links to steps update the page in place
  if (small.matches && e.target.closest("a[data-hx-target='#run']")) document.addEventListener("htmx:after:swap", open, { once: true });
});

document.addEventListener("htmx:after:swap", () => { if (shown) apply(true); });
document.addEventListener("keydown", (e) => { if (e.key === "Escape" && !e.defaultPrevented) close(); });
small.addEventListener("change", close);
if (new URLSearchParams(window.location.search).has("step")) open(); // a link to this step

let from: number | undefined; // where a swipe began, in px from the top of the window

document.addEventListener("touchstart", (e) => {
  const el = card(), touch = e.touches[0];
  const held = shown && e.touches.length === 1 && touch && el && e.target instanceof Element && (e.target.closest(".step-head") || (el.contains(e.target) && el.scrollTop <= 0));
  from = held ? touch.clientY : undefined;
}, { passive: true });

document.addEventListener("touchmove", (e) => {
  const el = card(), touch = e.touches[0];
  if (from === undefined || !el || !touch) return;
  el.style.translate = `0 ${String(Math.max(0, touch.clientY - from))}px`;
}, { passive: true });

document.addEventListener("touchend", (e) => {
  const el = card(), touch = e.changedTouches[0];
  if (from === undefined || !el || !touch) return;
  const by = touch.clientY - from;
  from = undefined;
  el.style.translate = "";
  if (by > swipe) close();
});
