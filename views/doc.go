// Package views holds nothing but the rooms below it, and the command that
// generates them. They turn plain structs, shaped like a screen, into HTML:
//
//   - layout: what surrounds every page
//   - components: buttons, fields, tables, times, values, charts
//   - account, console, editor, forms, docs: the pages, in the same rooms as
//     the handlers that serve them
//
// A page is built from the same components that htmx fetches on their own. Views
// know the URLs of pages and assets, and nothing of stores, sessions, requests or
// how a flow runs; handlers decide who may see what.
package views

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate
