package static

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// esbuild writes imports in these two ways. Of the dynamic imports in app.js, the
// builder needs only its own chunk and the canvas immediately.
var (
	staticImport  = regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)
	builderImport = regexp.MustCompile(`import\("\./((?:builder|canvas)-[^"]+)"\)`)
)

// BuilderScripts returns the URL paths of all scripts that the builder needs besides
// app.js. Preloading them saves two round trips: the browser otherwise discovers
// them only when app.js runs, after the page was parsed.
var BuilderScripts = sync.OnceValue(func() []string {
	seen, paths := map[string]bool{}, []string{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		paths = append(paths, Prefix+name)
		for _, m := range staticImport.FindAllSubmatch(script(name), -1) {
			visit(string(m[1]))
		}
	}
	app := script(strings.TrimPrefix(URL("app.js"), Prefix))
	for _, pattern := range []*regexp.Regexp{staticImport, builderImport} {
		for _, m := range pattern.FindAllSubmatch(app, -1) {
			visit(string(m[1]))
		}
	}
	return paths
})

// script returns the decompressed text of an embedded script.
func script(name string) []byte {
	gzipped, err := dist.ReadFile(path.Join("dist", name+".gz"))
	if err != nil {
		panic(fmt.Sprintf("static: read an embedded script: %v", err)) // only a broken build can cause this
	}
	return gunzip(gzipped)
}
