// Package flowtest provides node kinds and documents for the tests of package
// flow and the packages beneath it.
package flowtest
