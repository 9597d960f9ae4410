// Package admin adds to the API what operators and their scripts need: what was used,
// the JSON Schema of flow documents, and the keys, credentials and people of the workspace. It owns
// these routes and their JSON. Package api authenticates and describes them, package library
// decides which keys a key may manage, and Providers what the credential of a provider must
// look like.
package admin
