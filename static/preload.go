package static

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"
)

// The bundler writes imports in these two ways. Of those that app.js makes while it
// runs, only the builder and its canvas are needed at once.
var (
	staticImport  = regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)
	builderImport = regexp.MustCompile(`import\("\./((?:builder|canvas)-[^"]+)"\)`)
)

// BuilderScripts returns the paths of all scripts that the builder needs besides
// app.js. A page that preloads them saves two round trips: the browser otherwise
// learns of them only once app.js runs, after the page was parsed.
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

// script returns the text of an embedded script.
func script(name string) []byte {
	packed, err := dist.ReadFile(path.Join("dist", name+".gz"))
	if err != nil {
		panic(fmt.Sprintf("static: the embedded script: %v", err)) // a broken build; it cannot happen at run time
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Sprintf("static: unpack %s: %v", name, err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Sprintf("static: unpack %s: %v", name, err))
	}
	return text
}
