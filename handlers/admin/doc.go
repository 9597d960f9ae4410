// Package admin adds to the API what operators and their scripts need: what was used,
// the JSON Schema of flow documents, and the credentials of the workspace. It
// owns these routes and their JSON; package api authenticates and describes them, and
// what a provider's
// credential must look like is decided by Providers.
package admin
