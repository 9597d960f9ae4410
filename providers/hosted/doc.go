// Package hosted reaches the models of a model-hosting platform: it describes
// a model by its schema, starts, follows and cancels predictions, moves files,
// turns a schema into a form, and holds the catalogue of featured models. The
// platform hides behind Host. It knows nothing of flows and keeps nothing:
// the caller must record the prediction's ID before waiting for it.
package hosted
