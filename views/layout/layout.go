package layout

// htmxConfig makes htmx comply with the content security policy, and swap 4xx responses into
// the page like others. 5xx responses are not swapped, since they are whole pages.
const htmxConfig = `{"includeIndicatorCSS": false, "noSwap": [204, 304, "5xx"]}`
