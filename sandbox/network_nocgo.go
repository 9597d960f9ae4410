//go:build linux && !cgo

package sandbox

// sharedNetwork returns why this process shares its parent's network.
func sharedNetwork() string { return "this program was built without cgo" }
