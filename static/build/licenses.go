package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const modulesDir = "node_modules/"

// component is something that the program contains, with one text of its license. One with
// several texts, such as a license and a notice, is several components.
type component struct {
	name string // with the version
	text string
	// license is an SPDX expression for the heading; licenseOf reads it from the text.
	license string
	// source is where the source can be had, for licenses that ask for it.
	source string
}

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

// licenses returns the license of Sluice and those of everything that the program contains: the
// given npm packages in root, the Go modules of the repository, and what is embedded. A
// component without a license, or with one that is not known to permit distribution, is an error.
func licenses(root, repository string, packages []string) ([]byte, error) {
	own, err := os.ReadFile(filepath.Join(repository, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var all []component
	slices.Sort(packages)
	for _, name := range slices.Compact(packages) {
		found, err := npmPackage(filepath.Join(root, modulesDir, name))
		if err != nil {
			return nil, fmt.Errorf("license of %s: %w", name, err)
		}
		all = append(all, found...)
	}
	modules, err := goModules(repository)
	if err != nil {
		return nil, err
	}
	embedded, err := embeddedFiles(repository)
	if err != nil {
		return nil, err
	}
	all = append(all, modules...)
	return write(own, append(all, embedded...))
}

// write writes the components grouped by their text, so that equal texts are written once, and
// similar ones are near each other, which halves the size of the compressed file.
func write(own []byte, all []component) ([]byte, error) {
	groups := map[string][]component{}
	for _, c := range all {
		license, err := licenseOf(c)
		if err != nil {
			return nil, err
		}
		c.license = license
		groups[c.text] = append(groups[c.text], c)
	}
	texts := make([][]component, 0, len(groups))
	for _, g := range groups {
		slices.SortFunc(g, func(a, b component) int { return cmp.Compare(a.name, b.name) })
		texts = append(texts, slices.Compact(g))
	}
	slices.SortFunc(texts, func(a, b []component) int {
		return cmp.Or(cmp.Compare(a[0].license, b[0].license), cmp.Compare(a[0].name, b[0].name), cmp.Compare(a[0].text, b[0].text))
	})
	var out bytes.Buffer
	fmt.Fprintf(&out, "Sluice\n\n%s\n\nSluice contains the following components.\n", bytes.TrimSpace(own))
	for _, g := range texts {
		fmt.Fprintf(&out, "\n%s\n", strings.Repeat("=", 72))
		for _, c := range g {
			fmt.Fprintf(&out, "%s (%s)\n", c.name, c.license)
			if c.source != "" {
				fmt.Fprintf(&out, "    source: %s\n", c.source)
			}
		}
		if g[0].text != "" {
			fmt.Fprintf(&out, "\n%s\n", g[0].text)
		}
	}
	return out.Bytes(), nil
}

// npmPackage returns the package in a directory: one component for each of its licenses, or one
// without a text if package.json alone names the license.
func npmPackage(dir string) ([]component, error) {
	manifest, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var p struct{ Name, Version, License string }
	if err := json.Unmarshal(manifest, &p); err != nil {
		return nil, err
	}
	c := component{name: p.Name + " " + p.Version, license: p.License}
	texts, err := licenseTexts(dir)
	if err != nil || len(texts) == 0 {
		return []component{c}, err
	}
	var list []component
	for _, t := range texts {
		c.text, c.license = t.text, t.license
		list = append(list, c)
	}
	return list, nil
}

// notLinked are license files of modules for parts that the program does not contain: tests, logos and
// extensions. The last lists the modules around SQLite, which are here on their own.
var notLinked = []string{"LICENSE_TEST262", "LICENSE-LOGO", "LICENSE-SQLITE_VEC", "modernc.org/sqlite/LICENSE-3RD-PARTY.MD"}

// notice is in place of the license for a text that must be passed on, but says no conditions.
const notice = "notice"

// licenseTexts returns the licenses and notices in a directory, in the order of their names, as
// components without a name.
func licenseTexts(dir string) ([]component, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	unversioned, _, _ := strings.Cut(filepath.ToSlash(dir), "@v")
	var texts []component
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		isLicense := slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, func(p string) bool { return strings.HasPrefix(name, p) })
		if !isLicense || e.IsDir() || filepath.Ext(name) == ".GO" || slices.ContainsFunc(notLinked, func(p string) bool { return strings.HasSuffix(unversioned+"/"+name, "/"+p) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		c := component{text: clean(text)}
		if strings.HasPrefix(name, "NOTICE") {
			c.license = notice
		}
		texts = append(texts, c)
	}
	return texts, nil
}

// clean makes texts comparable: without space at the ends of lines and without surrounding lines.
func clean(text []byte) string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n\f"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// embeddedFiles returns the data of others in the repository. Beside such a file is its license, a
// file with LICENSE in its name.
func embeddedFiles(repository string) ([]component, error) {
	var list []component
	err := filepath.WalkDir(repository, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			switch e.Name() {
			case "node_modules", "dist", "testdata", ".git", "data":
				return fs.SkipDir
			}
			return nil
		}
		dir, err := filepath.Rel(repository, filepath.Dir(path))
		if err != nil {
			return err
		}
		before, _, ok := strings.Cut(e.Name(), "LICENSE")
		c := component{}
		if e.Name() == "NOTICE" {
			before, ok, c.license = "", true, notice
		}
		if !ok || dir == "." || filepath.Ext(path) == ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c.name, c.text = "embedded: "+filepath.ToSlash(filepath.Join(dir, strings.TrimSuffix(before, "."))), clean(text)
		list = append(list, c)
		return nil
	})
	return list, err
}
