// Package filelinks signs links that let their bearer download a file without a
// key, and inserts such links into the values of responses and webhooks.
package filelinks
