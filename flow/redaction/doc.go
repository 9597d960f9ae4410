// Package redaction replaces the secrets that a step was given, in all common
// encodings, wherever they appear in text or values.
package redaction
