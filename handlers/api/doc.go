// Package api is the HTTP API under /v1: keys, limits, and the translation
// between requests and the domain, with one file per noun. It owns how things
// look on the wire: statuses, headers, JSON, event streams, problems and the
// OpenAPI description. It decides nothing about flows and runs, and knows
// neither SQL nor the queue: it sees both through the interfaces in server.go.
package api
