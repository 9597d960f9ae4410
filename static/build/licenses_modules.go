package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// targets are the platforms of releases. They link different packages.
var targets = [][]string{
	{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1"},
	{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=1"},
	{"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"},
}

// goModules returns the Go modules that the program of any target contains, Go itself and SQLite.
// A package may have a license of its own in its directory, or in one between it and the module's.
func goModules(repository string) ([]component, error) {
	found := map[string]component{} // by name and text
	for _, environment := range targets {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/sluice")
		list.Dir, list.Env = repository, append(append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off"), environment...)
		var errs bytes.Buffer
		list.Stderr = &errs
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w: %s", err, errs.Bytes())
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			parts := strings.Split(line, "\t")
			if len(parts) != 4 {
				return nil, fmt.Errorf("go list: unexpected line %q", line)
			}
			if err := addModule(found, parts[0], parts[1], parts[2], parts[3]); err != nil {
				return nil, err
			}
		}
	}
	if err := addGo(found, repository); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(found)), nil
}

// addModule adds the licenses of a module that apply to one of its packages.
func addModule(found map[string]component, module, version, root, dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		texts, err := licenseTexts(dir)
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(root, dir)
		if err != nil || strings.HasPrefix(rest, "..") {
			return fmt.Errorf("%s is not in %s", dir, root)
		}
		name := module
		if rest != "." {
			name += "/" + filepath.ToSlash(rest)
		}
		for _, t := range texts {
			t.name, t.source = name+" "+version, sourceOf(module, version, t.text)
			found[name+t.text] = t
		}
		if dir == root {
			if !slices.ContainsFunc(texts, func(c component) bool { return c.license != notice }) {
				return fmt.Errorf("%s %s has no license", module, version)
			}
			break
		}
	}
	if module == "github.com/mattn/go-sqlite3" || module == "modernc.org/sqlite" {
		const text = "SQLite is in the public domain: its authors disclaim copyright to its source code (https://sqlite.org/copyright.html)."
		found[text] = component{name: "SQLite", text: text}
	}
	return nil
}

// sourceOf returns where the source of a module under the Mozilla Public License can be had, which
// the license asks for. It is "" for others.
func sourceOf(module, version, text string) string {
	if !strings.Contains(text, "Mozilla Public License") {
		return ""
	}
	return "https://pkg.go.dev/" + module + "@" + version
}

// addGo adds Go's standard library and runtime, which every program in Go contains.
func addGo(found map[string]component, repository string) error {
	find := exec.Command("go", "env", "GOROOT")
	find.Dir = repository
	out, err := find.Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "LICENSE"))
	if err != nil {
		return errors.Join(errors.New("the license of Go is missing"), err)
	}
	found["go"] = component{name: "Go standard library and runtime", text: clean(text)}
	return nil
}
