// Package redaction replaces the secrets of a step, in all common encodings, wherever they
// appear in texts or values.
package redaction
