//go:build !race

package flowtest

const raceFactor = 1
