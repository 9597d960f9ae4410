package main

import (
	"bytes"
	"compress/gzip"
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

// entries are the files that pages load by name. They import all other sources,
// statically or with import(), for which esbuild writes a separate chunk.
var entries = []string{"src/first.ts", "src/app.ts", "src/form.ts", "src/chat.ts", "src/embed.ts", "src/styles/app.css", "src/styles/canvas.css", "src/styles/pages.css", "src/styles/panes.css", "src/styles/late.css", "src/styles/public.css", "src/styles/docs.css", "src/styles/picker.css", "src/styles/catalog.css", "src/styles/welcome.css", "src/styles/approval.css", "src/styles/automation.css", "src/styles/knowledge.css", "src/styles/run.css", "src/styles/tests.css", "src/styles/chat.css"}

// bundle holds the built files, keyed by file name in dist, and the manifest, which
// maps plain names ("app.js") to those file names.
type bundle struct {
	files    map[string][]byte
	manifest map[string]string
}

// build generates dist of the static directory root, with the licenses of the program in repository.
// It does not rewrite unchanged files, so that watchers and build caches only see real changes.
func build(root, repository string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	b := bundle{files: map[string][]byte{}, manifest: map[string]string{}}
	packages, err := b.scripts(root)
	if err != nil {
		return err
	}
	if err := b.addImages(root); err != nil {
		return err
	}
	if b.files["licenses.txt"], err = licenses(root, repository, append(packages, "lucide-static")); err != nil {
		return err
	}
	b.manifest["licenses.txt"] = "licenses.txt"
	if b.files["manifest.json"], err = json.MarshalIndent(b.manifest, "", "  "); err != nil {
		return err
	}
	b.files["manifest.json"] = append(b.files["manifest.json"], '\n')
	if err := b.compress(); err != nil {
		return err
	}
	return b.write(filepath.Join(root, "dist"))
}

// scripts bundles the entry points and returns the npm packages that they contain.
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
		Alias:             map[string]string{"d3-transition": "./src/canvas/transitions.ts", "d3-interpolate": "./src/canvas/transitions.ts"},
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
	return b.readMetafile(result.Metafile)
}

// readMetafile adds the entries to the manifest and returns the names of the npm
// packages that the bundle contains. A package may be listed more than once.
func (b *bundle) readMetafile(metafile string) ([]string, error) {
	var meta struct {
		Inputs  map[string]struct{}
		Outputs map[string]struct{ EntryPoint string }
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, fmt.Errorf("read esbuild's metafile: %w", err)
	}
	for output, info := range meta.Outputs {
		for _, entry := range entries {
			if info.EntryPoint == entry {
				name := strings.TrimSuffix(filepath.Base(entry), filepath.Ext(entry)) + filepath.Ext(output)
				b.manifest[name] = filepath.Base(output)
			}
		}
	}
	if len(b.manifest) != len(entries) {
		return nil, errors.New("esbuild returned no output for an entry point")
	}
	return packagesOf(maps.Keys(meta.Inputs)), nil
}

// addImages adds the icon sprite and the favicon.
func (b *bundle) addImages(root string) error {
	sprite, err := sprite(root)
	if err != nil {
		return err
	}
	b.add("icons.svg", sprite)
	favicon, err := os.ReadFile(filepath.Join(root, "src/favicon.svg"))
	b.add("favicon.svg", favicon)
	return err
}

// add adds a file under a name with a hash of its contents.
func (b *bundle) add(name string, contents []byte) {
	sum := sha256.Sum256(contents)
	ext := filepath.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "-" + base32.StdEncoding.EncodeToString(sum[:5]) + ext
	b.files[hashed], b.manifest[name] = contents, hashed
}

// compress gzips each file except the manifest. Sluice embeds the compressed files
// and sends them to browsers unchanged; plain files would add 0.6 MB to the binary.
// The output is reproducible, since the gzip header has no time and no name.
func (b *bundle) compress() error {
	for name, contents := range maps.Clone(b.files) {
		if name == "manifest.json" {
			continue
		}
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(contents); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		delete(b.files, name)
		b.files[name+".gz"] = out.Bytes()
	}
	return nil
}

// write writes the files to dir and removes all other files from it.
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
		if current, err := os.ReadFile(path); err == nil && bytes.Equal(current, contents) {
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
