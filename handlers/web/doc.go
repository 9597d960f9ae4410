// Package web is what all HTTP handlers share. It owns how a request of the
// dashboard is processed: the table of routes and who may use them, sessions and
// their cookies, protection against cross-origin requests, forms and uploads,
// pages and fragments, toasts, error pages, event streams, and the limits for slow
// or hostile clients.
//
//   - Site is the dashboard as a whole: New creates it, Mount adds the routes of a
//     package, Handler serves them.
//   - Call is one request. The packages of the dashboard embed it in their own type.
//   - Route is one line of the table of routes; Site.serve checks its Access.
//   - Site.Fail is where every error of a page becomes a response.
//   - Call.ReadForm is the only reader of forms, with or without files.
//   - Stream is a response of Server-Sent Events, for pages and the API.
//   - Edge handles every request first, also those of the API.
//   - Package conns beneath it handles half-closed connections, shutdown, and uploads that take long.
//
// It has no rules about flows and runs. It uses the store for sessions, members and
// uploads, and the job runner only through an interface.
package web
