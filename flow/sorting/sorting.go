// Package sorting sorts lists with little machine code.
//
// The functions of package slices are compiled again for each type of an element, and in each
// package that uses them: a dozen functions each. These are slower by a factor of two or three,
// which does not matter for the lists of a page. Long lists that are sorted for each run are
// left to package slices.
package sorting

import (
	"slices"
	"sort"
)

// By sorts s by compare, which returns less than zero if a comes before b. Equal elements keep
// their order.
func By[E any](s []E, compare func(a, b E) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}

// Strings sorts s. It is as fast as slices.Sort; not being inlined keeps that out of the
// packages that call it.
//
//go:noinline
func Strings(s []string) { slices.Sort(s) }

// Keys returns the keys of a map in ascending order. Use it for everything that is shown or
// hashed, because the order of a map is random. An empty map gives nil.
func Keys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	Strings(keys)
	return keys
}
