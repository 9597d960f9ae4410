package layout

// htmxConfig keeps htmx within the page's policy: answers that are errors are
// shown where the answer would be, but a crash's page is not.
const htmxConfig = `{"includeIndicatorCSS": false, "noSwap": [204, 304, "5xx"]}`
