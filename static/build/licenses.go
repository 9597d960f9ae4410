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

const modulesDir = "node_modules/"

// packagesOf returns the npm packages that contain the files, as "@scope/name" or
// "name", with duplicates. It ignores files outside node_modules.
func packagesOf(files iter.Seq[string]) []string {
	var names []string
	for file := range files {
		_, rest, ok := strings.Cut(file, modulesDir)
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

// licenses returns the license texts of the bundled packages. Most licenses require
// that the text is distributed with the software.
func licenses(root string, packages []string) ([]byte, error) {
	slices.Sort(packages)
	var out bytes.Buffer
	out.WriteString("The dashboard of Sluice contains the following packages.\n")
	for _, name := range slices.Compact(packages) {
		if err := license(&out, filepath.Join(root, modulesDir, name)); err != nil {
			return nil, fmt.Errorf("license of %s: %w", name, err)
		}
	}
	err := pdfiumLicense(&out, root)
	return out.Bytes(), err
}

// pdfiumLicense appends the license of PDFium, the only embedded component that is
// not an npm package.
func pdfiumLicense(out *bytes.Buffer, root string) error {
	text, err := os.ReadFile(filepath.Join(root, "..", "documents", "pdfium", "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n%s\n", strings.Repeat("-", 72), bytes.TrimSpace(text))
	return nil
}

// license appends the name, version and license text of the package in dir.
func license(out *bytes.Buffer, dir string) error {
	manifest, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return err
	}
	var p struct{ Name, Version, License string }
	if err := json.Unmarshal(manifest, &p); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n%s %s (%s)\n\n", strings.Repeat("-", 72), p.Name, p.Version, p.License)
	found, _ := filepath.Glob(filepath.Join(dir, "[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
	if len(found) == 0 {
		return nil // without a license file, the SPDX name from package.json has to do
	}
	text, err := os.ReadFile(found[0])
	out.Write(bytes.TrimSpace(text))
	out.WriteByte('\n')
	return err
}
