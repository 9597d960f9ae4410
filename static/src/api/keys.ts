// While a new key is shown, code samples contain it. It is only in the text of
// the page and stored nowhere.

const placeholder = "slu_YOUR_KEY";
let shown = placeholder;

/** putKey writes the shown key, or else the placeholder, into all code samples. */
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

// Responses about keys add and remove the shown key.
document.addEventListener("htmx:after:swap", putKey);
document.addEventListener("key:made", () => requestAnimationFrame(putKey));
putKey();
