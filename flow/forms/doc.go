// Package forms holds the public forms of flows: their settings, their daily limit, and
// the signed tickets and passes by which visitors are recognized without an account.
//
// It must not depend on how forms are stored or shown.
package forms
