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

// imports maps each script under dir to those that it imports, types included,
// all relative to dir.
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

// cycle returns scripts that import each other in a ring, or nil.
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

func TestImportsHaveNoCycles(t *testing.T) {
	t.Parallel()
	graph := imports(t, "../src")
	if len(graph["canvas/element.ts"]) == 0 {
		t.Fatalf("found no imports among %d scripts", len(graph))
	}
	if found := cycle(graph); found != nil {
		t.Errorf("scripts import each other: %s", strings.Join(found, " -> "))
	}
}

// TestCanvasPartsDoNotKnowTheElement: each part of the canvas declares what it
// needs as an interface; only index.ts and the page know the element.
func TestCanvasPartsDoNotKnowTheElement(t *testing.T) {
	t.Parallel()
	for name, list := range imports(t, "../src") {
		if filepath.Dir(name) == "canvas" && name != "canvas/index.ts" && slices.Contains(list, "canvas/element.ts") {
			t.Errorf("%s imports the element; declare an interface of what it needs", name)
		}
		for _, i := range list {
			if filepath.Dir(name) == "canvas" && filepath.Dir(i) != "canvas" {
				t.Errorf("%s imports %s; the canvas knows nothing of the page around it", name, i)
			}
		}
	}
}

func TestCycle(t *testing.T) {
	t.Parallel()
	if got := cycle(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": {}}); got != nil {
		t.Errorf("found %v without a cycle", got)
	}
	if got := cycle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}); len(got) != 3 || got[0] != got[2] {
		t.Errorf("found %v, want b and c", got)
	}
}
