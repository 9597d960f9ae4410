// Package admin adds to the API what operators and their scripts need: what was used,
// the JSON Schema of flow documents, and the keys and credentials of the workspace. It
// owns these routes and their JSON; package api authenticates and describes them, and
// the rules about keys and credentials are in package library.
package admin
