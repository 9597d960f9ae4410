// Package openapi builds OpenAPI 3.1 documents: operations in a short form, schemas derived from Go
// types, the parameters, headers and bodies of /v1, and how files are described.
//
// It must not know routes, handlers or the server; package api lists its routes and adds them.
package openapi
