package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPackagesOf(t *testing.T) {
	t.Parallel()
	files := []string{"src/app.ts", "node_modules/htmx.org/dist/htmx.esm.js", "node_modules/@xyflow/system/dist/esm/index.js"}
	got := packagesOf(slices.Values(files))
	if want := []string{"htmx.org", "@xyflow/system"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWrite_replaces_only_changed_files(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	same, old := filepath.Join(dir, "same.js"), filepath.Join(dir, "old.js")
	put(t, same, "1")
	put(t, old, "2")
	modTime := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(same, modTime, modTime); err != nil {
		t.Fatal(err)
	}
	b := bundle{files: map[string][]byte{"same.js": []byte("1"), "new.js": []byte("3")}}
	if err := b.write(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(same); err != nil || !info.ModTime().Equal(modTime) {
		t.Errorf("an unchanged file was rewritten: %v", err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an outdated file was not removed")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "new.js")); err != nil || string(text) != "3" {
		t.Errorf("new.js: %q, %v", text, err)
	}
}

func TestSprite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, filepath.Join(root, "src/icons.txt"), "# comment\nplay\n")
	put(t, filepath.Join(root, "node_modules/lucide-static/icons/play.svg"), "<!-- c -->\n<svg\n  width=\"24\">\n  <path d=\"M5 5\" />\n  <path d=\"M6 6\" />\n</svg>")
	got, err := sprite(root)
	want := "<svg xmlns=\"http://www.w3.org/2000/svg\">\n<symbol id=\"play\" viewBox=\"0 0 24 24\"><path d=\"M5 5\" /><path d=\"M6 6\" /></symbol>\n</svg>\n"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	put(t, filepath.Join(root, "src/icons.txt"), "no-such-icon\n")
	if _, err := sprite(root); err == nil {
		t.Error("an unknown icon was accepted")
	}
}

func TestChanges_reports_new_and_modified_sources(t *testing.T) {
	t.Parallel()
	root, seen := t.TempDir(), map[string]time.Time{}
	put(t, filepath.Join(root, "views/a.templ"), "1")
	put(t, filepath.Join(root, "static/node_modules/b.ts"), "1")
	put(t, filepath.Join(root, "static/dist/c.css"), "1")
	put(t, filepath.Join(root, "views/a_test.go"), "1")
	if got := changes(root, seen); len(got) != 1 || filepath.Base(got[0]) != "a.templ" {
		t.Errorf("first scan: got %v, want a.templ", got)
	}
	if got := changes(root, seen); len(got) != 0 {
		t.Errorf("scan without a change: got %v, want none", got)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(root, "views/a.templ"), later, later); err != nil {
		t.Fatal(err)
	}
	if got := changes(root, seen); len(got) != 1 {
		t.Errorf("scan after a change: got %v, want a.templ", got)
	}
}
