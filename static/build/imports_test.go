package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var importPath = regexp.MustCompile(`(?m)(?:from|^import|import\()\s*"(\.[^"]+)"`)

// imports maps each script under dir to the scripts that it imports, type imports
// included. Paths are relative to dir.
func imports(t *testing.T, dir string) map[string][]string {
	t.Helper()
	graph := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".ts") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		graph[name] = []string{}
		for _, m := range importPath.FindAllSubmatch(text, -1) {
			graph[name] = append(graph[name], filepath.Join(filepath.Dir(name), string(m[1])))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

// cycle returns the scripts of an import cycle, starting and ending with the same
// one, or nil if there is no cycle.
func cycle(graph map[string][]string) []string {
	const active, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(string) []string
	visit = func(name string) []string {
		switch state[name] {
		case active:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		case done:
			return nil
		}
		state[name] = active
		path = append(path, name)
		for _, next := range graph[name] {
			if found := visit(next); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		return nil
	}
	for name := range graph {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}

func TestImports_have_no_cycles(t *testing.T) {
	t.Parallel()
	graph := imports(t, "../src")
	if len(graph["canvas/element.ts"]) == 0 {
		t.Fatalf("canvas/element.ts has no imports; found %d scripts", len(graph))
	}
	if found := cycle(graph); found != nil {
		t.Errorf("scripts import each other: %s", strings.Join(found, " -> "))
	}
}

// TestCanvasParts_do_not_import_the_element checks that only index.ts and the page
// depend on the element. Each part declares an interface of what it needs instead.
func TestCanvasParts_do_not_import_the_element(t *testing.T) {
	t.Parallel()
	for name, list := range imports(t, "../src") {
		if filepath.Dir(name) == "canvas" && name != "canvas/index.ts" && slices.Contains(list, "canvas/element.ts") {
			t.Errorf("%s imports the element; declare an interface of what it needs", name)
		}
		for _, i := range list {
			if filepath.Dir(name) == "canvas" && filepath.Dir(i) != "canvas" {
				t.Errorf("%s imports %s; the canvas must not depend on the page", name, i)
			}
		}
	}
}

var (
	contextOf    = regexp.MustCompile(`(?s)export interface (\w+Context)[^{]*\{(?:\}|\n(.*?)\n\})`)
	memberOf     = regexp.MustCompile(`(?m)^  (?:readonly )?(\w+)[:(]`)
	contextParam = regexp.MustCompile(`constructor\(private canvas: (\w+)`)
)

// TestCanvasParts_declare_minimal_contexts checks that the constructor of each part
// takes the context interface declared in the same file, and that the part uses
// every member of it.
func TestCanvasParts_declare_minimal_contexts(t *testing.T) {
	t.Parallel()
	parts := 0
	for name := range imports(t, "../src") {
		if filepath.Dir(name) != "canvas" || strings.HasSuffix(name, ".test.ts") {
			continue
		}
		file, err := os.ReadFile(filepath.Join("../src", name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(file)
		parameter := contextParam.FindStringSubmatch(text)
		if parameter == nil {
			continue
		}
		parts++
		declared := contextOf.FindStringSubmatch(text)
		if declared == nil || declared[1] != parameter[1] {
			t.Errorf("%s takes a %s, which it does not declare", name, parameter[1])
			continue
		}
		rest := strings.Replace(text, declared[0], "", 1)
		for _, m := range memberOf.FindAllStringSubmatch(declared[2], -1) {
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(rest) {
				t.Errorf("%s declares %s in %s but does not use it", name, m[1], parameter[1])
			}
		}
	}
	if parts < 20 {
		t.Errorf("found only %d parts of the canvas", parts)
	}
}

func TestCycle_finds_import_cycles(t *testing.T) {
	t.Parallel()
	if got := cycle(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": {}}); got != nil {
		t.Errorf("found %v without a cycle", got)
	}
	if got := cycle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}); len(got) != 3 || got[0] != got[2] {
		t.Errorf("found %v, want b and c", got)
	}
}
