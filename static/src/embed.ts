// Shows a form or a chat on another site:
//
//   <script async src="https://sluice.example.com/f/flow_…/embed.js"></script>
//
// shows it in place of the script. data-height sets the height in pixels, data-title the
// name for screen readers. With data-button="Ask us", a button in the corner opens it.
(() => {
  const script = document.currentScript as HTMLScriptElement | null;
  if (!script) return;
  const { height = "640", title = "Chat", button } = script.dataset;
  const frame = document.createElement("iframe");
  frame.title = title;
  frame.allow = "clipboard-write";
  frame.loading = "lazy";
  const set = (element: HTMLElement, styles: Record<string, string>) => Object.assign(element.style, styles);
  set(frame, { width: "100%", height: `${Number.parseInt(height, 10) || 640}px`, border: "0", colorScheme: "auto" });
  const load = () => (frame.src ||= script.src.replace(/\/embed\.js.*$/, ""));
  if (button === undefined) {
    load();
    script.after(frame);
    return;
  }
  const opener = document.createElement("button");
  opener.type = "button";
  opener.textContent = button || title;
  opener.setAttribute("aria-expanded", "false");
  set(opener, {
    position: "fixed", right: "20px", bottom: "20px", zIndex: "2147483000", padding: "0 20px", height: "48px", border: "0", borderRadius: "24px", background: "#0b7285",
    color: "#fff", font: "600 15px/1 system-ui, sans-serif", cursor: "pointer", boxShadow: "0 6px 24px #0003",
  });
  set(frame, {
    position: "fixed", right: "20px", bottom: "80px", zIndex: "2147483000", width: "min(400px, calc(100vw - 40px))", height: "min(640px, calc(100vh - 100px))", borderRadius: "14px",
    boxShadow: "0 12px 48px #0004", display: "none",
  });
  const show = (on: boolean) => {
    load();
    frame.style.display = on ? "block" : "none";
    opener.setAttribute("aria-expanded", String(on));
    if (on) frame.focus();
  };
  opener.addEventListener("click", () => show(frame.style.display === "none"));
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && frame.style.display !== "none") show(false), opener.focus();
  });
  const add = () => document.body.append(frame, opener);
  if (document.body) add();
  else addEventListener("DOMContentLoaded", add);
})();
