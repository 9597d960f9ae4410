//go:build !race

package expression

const slowdown = 1
