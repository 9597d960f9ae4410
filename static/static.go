// Package static owns what browsers fetch besides pages: scripts, styles and
// icons, built from src into dist, committed and embedded. It serves them under
// /assets/ for ever, as each name changes with its contents. It knows nothing of
// pages, sessions or flows.
package static

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

//go:generate go -C build run .

// Prefix is the path under which Handler serves.
const Prefix = "/assets/"

//go:embed all:dist
var dist embed.FS

// manifest maps names as pages say them ("app.js") to those in dist.
var manifest = sync.OnceValue(func() map[string]string {
	var names map[string]string
	text, err := fs.ReadFile(dist, "dist/manifest.json")
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		panic(fmt.Sprintf("static: the embedded manifest: %v", err)) // a broken build, not a state of a running one
	}
	return names
})

// URL gives the address of an asset by its plain name, such as "app.js". A name
// that does not exist gives an address that answers 404.
func URL(name string) string {
	if hashed, ok := manifest()[name]; ok {
		return Prefix + hashed
	}
	return Prefix + name
}

// Names lists the plain names that URL knows.
func Names() []string { return slices.Sorted(maps.Keys(manifest())) }
