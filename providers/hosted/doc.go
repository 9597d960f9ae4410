// Package hosted is a client of model-hosting platforms: it reads a model's schema, starts,
// polls and cancels predictions, transfers files, turns a schema into a form, and holds the
// catalog of featured models. Host is the interface of a platform. The package does not
// depend on flows and stores nothing: callers must persist the ID of a prediction before
// they wait for it.
package hosted
