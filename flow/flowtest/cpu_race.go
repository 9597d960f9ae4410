//go:build race

package flowtest

const raceFactor = 15
