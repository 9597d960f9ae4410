// Package static owns the scripts, styles and icons of the dashboard. They are
// built from src into dist by the command in build, compressed, committed, and
// embedded. The name of each file contains a hash of its contents, so Handler
// lets browsers cache it for a year; pages get the current name from URL. The
// package does not depend on pages, sessions or flows.
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

// manifest maps the plain names that pages use ("app.js") to file names in dist.
var manifest = sync.OnceValue(func() map[string]string {
	var names map[string]string
	text, err := fs.ReadFile(dist, "dist/manifest.json")
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		panic(fmt.Sprintf("static: read the embedded manifest: %v", err)) // only a broken build can cause this
	}
	return names
})

// URL returns the path of an asset by its plain name, such as "app.js". For an
// unknown name it returns a path that responds with 404.
func URL(name string) string {
	if hashed, ok := manifest()[name]; ok {
		return Prefix + hashed
	}
	return Prefix + name
}

// Licenses returns the licenses of Sluice and of everything that the program contains.
func Licenses() string {
	gzipped, err := fs.ReadFile(dist, "dist/licenses.txt.gz")
	if err != nil {
		panic(fmt.Sprintf("static: read the embedded licenses: %v", err)) // only a broken build can cause this
	}
	return string(gunzip(gzipped))
}

// Names returns the plain names of all assets in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(manifest())) }
