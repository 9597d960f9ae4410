// A key that was just made stands in the code while it is on the screen. It is
// in the page's text alone and is kept nowhere.

const placeholder = "slu_YOUR_KEY";
let shown = placeholder;

/** putKey writes the key that is on the screen, or else the placeholder, into all code that needs one. */
export function putKey(): void {
  const key = document.querySelector("#flow-keys [data-new-key]")?.textContent?.trim() || placeholder;
  for (const code of document.querySelectorAll("#flow-api [data-snippet]")) replace(code, key);
  shown = key;
}

function replace(code: Element, key: string): void {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  for (let t = texts.nextNode(); t; t = texts.nextNode()) {
    const text = t.nodeValue!, now = text.replaceAll(shown, key).replaceAll(placeholder, key);
    if (now !== text) t.nodeValue = now;
  }
}

// The key comes with an answer about keys, and goes with another.
document.addEventListener("htmx:after:swap", putKey);
document.addEventListener("key:made", () => requestAnimationFrame(putKey));
putKey();
