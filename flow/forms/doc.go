// Package forms holds the public forms of flows: their settings, their daily limit, and
// the tickets and passes that visitors get instead of an account.
//
// It must not know how forms are stored or shown.
package forms
