// Package bases stores knowledge bases: their documents, the passages of these, and the index in which passages are found by words
// and by meaning.
//
// A document is replaced in one transaction, with its passages and its part of the index, so that a reader sees the old or the new one.
// A search reads everything in one transaction, too, and returns only passages that exist in it: what is deleted is gone with the commit,
// even while blocks of the index still have it. Background work rewrites these (compact.go).
//
// The package knows nothing of models, files and runs.
package bases
