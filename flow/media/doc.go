// Package media decides how files are named and served: their media type, a safe file
// name, and the response headers that keep a browser from running a file.
//
// It must not depend on where files are stored or who may read them.
package media
