//go:build linux && !cgo

package confine

// sharedNetwork returns why this process shares its parent's network.
func sharedNetwork() string { return "this program was built without cgo" }
