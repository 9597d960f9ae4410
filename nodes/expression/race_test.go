//go:build race

package expression

const slowdown = 20
