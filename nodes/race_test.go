//go:build race

package nodes

const slowdown = 20
