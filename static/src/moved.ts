// Sections of the documentation that are pages of their own now. A link to the anchor that such a
// section had on its page goes to the new page; without scripts it goes to the link in the index.

/** follow goes to the page of the section that the address names. */
function follow(): void {
  const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (at instanceof HTMLAnchorElement && "moved" in at.dataset) location.replace(at.href);
}

follow();
addEventListener("hashchange", follow);
