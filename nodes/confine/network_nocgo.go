//go:build linux && !cgo

package confine

// sharedNetwork is why this process has its parent's network.
func sharedNetwork() string { return "this program was built without cgo" }
