package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const modules = "node_modules/"

// packagesOf returns the packages that files belong to, as "@scope/name" or
// "name".
func packagesOf(files iter.Seq[string]) []string {
	var names []string
	for file := range files {
		_, rest, ok := strings.Cut(file, modules)
		if !ok {
			continue
		}
		parts := strings.SplitN(rest, "/", 3)
		name := parts[0]
		if strings.HasPrefix(name, "@") {
			name += "/" + parts[1]
		}
		names = append(names, name)
	}
	return names
}

// licenses returns the license texts of the bundled packages, which most of them
// require to be distributed along.
func licenses(root string, packages []string) ([]byte, error) {
	slices.Sort(packages)
	var out bytes.Buffer
	out.WriteString("The dashboard of Sluice contains the following packages.\n")
	for _, name := range slices.Compact(packages) {
		if err := license(&out, filepath.Join(root, modules, name)); err != nil {
			return nil, fmt.Errorf("license of %s: %w", name, err)
		}
	}
	err := embedded(&out, root)
	return out.Bytes(), err
}

// embedded adds the license of the one embedded part that is no package of the
// dashboard: the reader of PDF files.
func embedded(out *bytes.Buffer, root string) error {
	text, err := os.ReadFile(filepath.Join(root, "..", "documents", "pdfium", "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n%s\n", strings.Repeat("-", 72), bytes.TrimSpace(text))
	return nil
}

func license(out *bytes.Buffer, dir string) error {
	about, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return err
	}
	var p struct{ Name, Version, License string }
	if err := json.Unmarshal(about, &p); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n%s %s (%s)\n\n", strings.Repeat("-", 72), p.Name, p.Version, p.License)
	found, _ := filepath.Glob(filepath.Join(dir, "[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
	if len(found) == 0 {
		return nil // its package.json names the license
	}
	text, err := os.ReadFile(found[0])
	out.Write(bytes.TrimSpace(text))
	out.WriteByte('\n')
	return err
}
