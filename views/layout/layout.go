package layout

// htmxConfig makes htmx comply with the content security policy, and swap 4xx responses into
// the page like others. 5xx responses are not swapped, since they are whole pages. A morph leaves
// <details> as the reader left them, and elements with data-hx-morph-skip as they are.
const htmxConfig = `{"includeIndicatorCSS": false, "noSwap": [204, 304, "5xx"], "morphSkip": "[data-hx-morph-skip]", "morphIgnore": ["data-htmx-powered", "open"]}`
