package sluice_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sourceFile matches a file of the tree between backticks. A star stands for several.
var sourceFile = regexp.MustCompile("`([a-z0-9_/]+/[a-z0-9_.*-]+\\.(?:go|ts|templ|css|md))`")

// treeNames matches the names at the beginning of a line of the tree of packages, as in
// "├─ upstream, catalog".
var treeNames = regexp.MustCompile(`^[ │├└─►]*[├└]─+►? *([a-z0-9]+(?:, [a-z0-9]+)*)`)

// design returns docs/design.md and its section "Packages", the map of the packages.
func design(t *testing.T) (all, tree string) {
	t.Helper()
	text, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## Packages\n")
	tree, _, ended := strings.Cut(rest, "\n## ")
	if !found || !ended {
		t.Fatal("docs/design.md has no section Packages, or nothing after it")
	}
	return string(text), tree
}

// TestDesign_names_every_package compares the tree of docs/design.md with the packages
// of the tree, in both directions. New developers look there first.
func TestDesign_names_every_package(t *testing.T) {
	t.Parallel()
	_, tree := design(t)
	names := []string{"sluice"}
	for _, p := range packages(t) {
		name := path.Base(p.ImportPath)
		names = append(names, name)
		if generator(p) || p.ImportPath == "sluice/e2e/all" {
			continue // programs that write files of the package above, and a list of tests
		}
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(tree) {
			t.Errorf("docs/design.md lacks %s; say in a few words what it owns", strings.TrimPrefix(p.ImportPath, "sluice/"))
		}
	}
	for line := range strings.Lines(tree) {
		m := treeNames.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for name := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(names, name) {
				t.Errorf("docs/design.md has %s, which is not a package", name)
			}
		}
	}
}

// TestDesign_points_to_files checks that the files that docs/design.md points to exist.
// They answer questions such as where a run is canceled.
func TestDesign_points_to_files(t *testing.T) {
	t.Parallel()
	all, _ := design(t)
	found := sourceFile.FindAllStringSubmatch(all, -1)
	if len(found) < 20 {
		t.Fatalf("docs/design.md names only %d files", len(found))
	}
	for _, m := range found {
		if list, _ := filepath.Glob(m[1]); len(list) == 0 {
			if list, _ = filepath.Glob("static/src/" + m[1]); len(list) == 0 {
				t.Errorf("docs/design.md points to %s, which does not exist", m[1])
			}
		}
	}
}

// TestMigrations_have_numbers_of_their_own finds two changes that took the same number: with both, no server starts.
func TestMigrations_have_numbers_of_their_own(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("db/migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := map[string]string{}
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		if other := seen[number]; other != "" {
			t.Errorf("%s and %s have the same number; give one of them the next free number", other, file)
		}
		seen[number] = file
	}
}
