package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// entries are what pages ask for by name; all else is reached from them.
var entries = []string{"src/app.ts", "src/form.ts", "src/styles/app.css", "src/styles/canvas.css", "src/styles/pages.css", "src/styles/docs.css"}

// bundle holds finished files by the name they get in dist, and which logical
// name ("app.js") stands for which of them.
type bundle struct {
	files    map[string][]byte
	manifest map[string]string
}

// build makes dist anew. A file that did not change is not touched, so that
// watchers and caches see only what is new.
func build(root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	b := bundle{files: map[string][]byte{}, manifest: map[string]string{}}
	packages, err := b.scripts(root)
	if err != nil {
		return err
	}
	if err := b.pictures(root); err != nil {
		return err
	}
	if b.files["licenses.txt"], err = licenses(root, append(packages, "lucide-static")); err != nil {
		return err
	}
	b.manifest["licenses.txt"] = "licenses.txt"
	if b.files["manifest.json"], err = json.MarshalIndent(b.manifest, "", "  "); err != nil {
		return err
	}
	b.files["manifest.json"] = append(b.files["manifest.json"], '\n')
	return b.write(filepath.Join(root, "dist"))
}

// scripts bundles the entries and tells which packages went in.
func (b *bundle) scripts(root string) ([]string, error) {
	result := api.Build(api.BuildOptions{
		AbsWorkingDir:     root,
		EntryPoints:       entries,
		Outdir:            "dist",
		EntryNames:        "[name]-[hash]",
		ChunkNames:        "[name]-[hash]",
		AssetNames:        "[name]-[hash]",
		Bundle:            true,
		Splitting:         true,
		Format:            api.FormatESModule,
		Target:            api.ES2023,
		MinifySyntax:      true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		LegalComments:     api.LegalCommentsLinked,
		Alias:             map[string]string{"d3-color": "./src/canvas/no_colors.ts"},
		Define:            map[string]string{"process.env.NODE_ENV": `"production"`},
		Metafile:          true,
		LogLevel:          api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%d errors; did `npm ci` run in static?", len(result.Errors))
	}
	for _, f := range result.OutputFiles {
		b.files[filepath.Base(f.Path)] = f.Contents
	}
	return b.read(result.Metafile)
}

// read takes the names of entries and the packages used from what the bundler
// says about its work.
func (b *bundle) read(metafile string) ([]string, error) {
	var meta struct {
		Inputs  map[string]struct{}
		Outputs map[string]struct{ EntryPoint string }
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, fmt.Errorf("read what the bundler made: %w", err)
	}
	for out, of := range meta.Outputs {
		for _, entry := range entries {
			if of.EntryPoint == entry {
				name := strings.TrimSuffix(filepath.Base(entry), filepath.Ext(entry)) + filepath.Ext(out)
				b.manifest[name] = filepath.Base(out)
			}
		}
	}
	if len(b.manifest) != len(entries) {
		return nil, errors.New("the bundler left out an entry")
	}
	return packagesOf(maps.Keys(meta.Inputs)), nil
}

// pictures adds the sprite and the icon of the site.
func (b *bundle) pictures(root string) error {
	sprite, err := sprite(root)
	if err != nil {
		return err
	}
	b.add("icons.svg", sprite)
	favicon, err := os.ReadFile(filepath.Join(root, "src/favicon.svg"))
	b.add("favicon.svg", favicon)
	return err
}

// add puts a file under a name that changes with its contents.
func (b *bundle) add(name string, contents []byte) {
	sum := sha256.Sum256(contents)
	ext := filepath.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "-" + base32.StdEncoding.EncodeToString(sum[:5]) + ext
	b.files[hashed], b.manifest[name] = contents, hashed
}

// write makes dir hold these files and no others.
func (b *bundle) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for name, contents := range b.files {
		path := filepath.Join(dir, name)
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, contents) {
			continue
		}
		if err := os.WriteFile(path, contents, 0o644); err != nil {
			return err
		}
	}
	for _, e := range old {
		if _, keep := b.files[e.Name()]; !keep {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
