// Package views only holds the directives that generate the packages below it, which turn plain
// structs shaped like a screen into HTML:
//
//   - render: what every template calls
//   - layout: the frame of every page
//   - components: buttons, fields, tables, times, values, charts
//   - account, console, editor, forms, docs: the pages, named after the handler
//     packages that serve them
//
// htmx fetches the same components that pages are built from. Views know the URLs of pages and
// assets, but not stores, sessions, requests or how a flow runs. Authorization is up to the
// handlers.
package views

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.1118 generate
//go:generate go run ./generate
