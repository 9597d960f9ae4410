// Package web is what the rooms of the HTTP edge share. It owns how a request
// of the dashboard travels: the table of routes and who may use them, sessions
// and their cookies, the guard against cross-origin requests, forms and the
// files in them, pages and fragments, messages, errors as pages, event streams,
// and the limits of slow or hostile peers.
//
//   - Site is the dashboard as a whole: New makes it, Mount adds the routes of a
//     room, Handler serves them.
//   - Call is one request. Rooms embed it in a type of their own.
//   - Route is one line of the table of routes.
//   - Stream is an answer of Server-Sent Events, for pages and the API.
//   - Conn-level concerns live beneath: conns (half-closed connections and
//     shutdown) and slowbody (uploads that take long).
//
// It decides nothing about flows and runs, and knows neither SQL nor the queue:
// it sees both through interfaces.
package web
