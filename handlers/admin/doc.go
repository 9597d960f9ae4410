// Package admin adds routes to the API for operators and their scripts: usage, limits, quotas,
// prices, models, the audit log, the JSON Schema of flow documents, and the keys, credentials and
// members of the workspace. It owns these routes and their JSON. Package api authenticates requests,
// package library decides which keys a key may manage, and Providers validates credentials.
package admin
