// Package sorting sorts slices of structs with little machine code.
package sorting

import "sort"

// By sorts s by compare, which returns less than zero if a comes before b. Equal elements keep
// their order.
//
// It is slices.SortStableFunc with another trade-off: that compiles a dozen functions for each
// type of an element, this one. It is slower by a factor of two or three, which does not matter
// for the lists of a page. Long lists that are sorted for each run are left to package slices.
func By[E any](s []E, compare func(a, b E) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}
