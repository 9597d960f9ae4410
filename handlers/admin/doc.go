// Package admin adds to the API what operators and their scripts need: what was used,
// the JSON Schema of flow documents, and the credentials of the workspace. It owns these
// routes and their JSON. Package api authenticates and describes them, and Providers
// decides what the credential of a provider must look like.
package admin
