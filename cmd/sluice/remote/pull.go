package remote

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/document"
)

// exists reports whether there is a file or directory at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Pull writes the flows of a server to files.
type Pull struct {
	Dir  string `arg:"" name:"dir" help:"Directory; created if it is missing."`
	Live bool   `help:"Get the live versions instead of the drafts. Flows without one are left out."`
}

// RunAPI writes every flow that the key may read to a file named after its slug, or to the
// existing file below the directory that has this slug, so that flows can be sorted into
// subdirectories. It keeps files without a flow on the server, which may be new or archived.
// It does not write equal files, so that their modification times do not change.
func (c Pull) RunAPI(ctx context.Context, api *client.Client, s *Streams) error {
	flows, err := api.ListFlows(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	paths, err := filesBySlug(c.Dir)
	if err != nil {
		return err
	}
	written := 0
	for i := range flows {
		f := &flows[i]
		version := "draft"
		if c.Live {
			version = "live"
		}
		if c.Live && f.Version == nil {
			continue
		}
		if !document.ValidSlug(f.Slug) {
			return fmt.Errorf("the server names a flow %q, which is not a slug; check the address", f.Slug)
		}
		data, _, err := api.Document(ctx, f.ID, version)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Slug, err)
		}
		path := paths[f.Slug]
		if path == "" {
			path = filepath.Join(c.Dir, f.Slug+fileSuffix)
		}
		if was, err := os.ReadFile(path); err == nil {
			if data = keepSchema(data, was); bytes.Equal(was, data) {
				continue
			}
		}
		if err := replaceFile(path, data, 0o644); err != nil {
			return err
		}
		written++
		fmt.Fprintln(s.Out, path)
	}
	if written == 0 {
		_, err = fmt.Fprintln(s.Out, "All files are up to date.")
	}
	return err
}

// filesBySlug returns the flow files below a directory by slug. It ignores files that are not
// JSON.
func filesBySlug(dir string) (map[string]string, error) {
	names, err := findFiles([]string{dir})
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, name := range names {
		if f, err := readSource(name); err == nil && f.slug() != "" {
			paths[f.slug()] = name
		}
	}
	return paths, nil
}

// Fmt rewrites flow files in canonical form. It needs no server.
type Fmt struct {
	Paths []string `arg:"" name:"path" help:"Flow files, or directories with files named *.flow.json."`
	Check bool     `help:"Only list files that are not in canonical form; exit code 1 if there are any."`
}

// Format rewrites all files, or none if one of them is not a flow document. The canonical form is
// that of exports: two spaces of indentation, fields in the order of the documentation, sorted
// names in config. Two files with the same flow are then equal byte for byte, so that a diff
// shows only real changes. Format does not check whether a flow can run, as "flow validate" does.
func (c Fmt) Format(s *Streams) error {
	files, err := readSources(c.Paths)
	if err != nil {
		return err
	}
	formatted := make([][]byte, len(files))
	var bad []string
	for i, f := range files {
		data, problems := canonical(f.data)
		for _, p := range problems {
			bad = append(bad, f.located(p))
		}
		formatted[i] = data
	}
	if len(bad) > 0 {
		for _, line := range bad {
			fmt.Fprintln(s.Err, line)
		}
		return fmt.Errorf("%s; no file was changed", flow.Count(len(bad), "problem"))
	}
	changed := 0
	for i, f := range files {
		if bytes.Equal(f.data, formatted[i]) {
			continue
		}
		changed++
		fmt.Fprintln(s.Out, f.path)
		if c.Check {
			continue
		}
		info, err := os.Stat(f.path)
		if err == nil {
			err = replaceFile(f.path, formatted[i], info.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	if c.Check && changed > 0 {
		return fmt.Errorf("%s not in canonical form; run 'sluice flow fmt'", flow.Count(changed, "file"))
	}
	return nil
}
