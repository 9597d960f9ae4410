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
	"sluice/flow/library"
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

	Recordings bool `help:"Also get the recorded results of tests, and the files of cases, into SLUG.tests. They have what services answered: each file is printed, and none is written if one has texts that look like secrets."`
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
	n, err := c.pullCompanions(ctx, api, s, paths)
	if err != nil {
		return err
	}
	for i := range flows {
		if !c.Recordings {
			break
		}
		f := &flows[i]
		at := c.Dir
		if path := paths[f.Slug]; path != "" {
			at = filepath.Dir(path)
		}
		recorded, err := PullRecordings(ctx, api, s, f.ID, recordingsDir(at, f.Slug))
		if err != nil {
			return err
		}
		files, err := PullFiles(ctx, api, s, f.ID, recordingsDir(at, f.Slug))
		if err != nil {
			return err
		}
		n += recorded + files
	}
	if written+n == 0 {
		_, err = fmt.Fprintln(s.Out, "All files are up to date.")
	}
	return err
}

// pullCompanions writes the files beside flows to the directories of these, or to existing files. A file of a flow that was renamed
// is renamed too. A flow without triggers gets no file, but one that exists becomes empty.
func (c Pull) pullCompanions(ctx context.Context, api *client.Client, s *Streams, flows map[string]string) (written int, err error) {
	if c.Live {
		return 0, nil // they have no versions
	}
	heads, err := api.ListCompanions(ctx)
	if err != nil {
		return 0, err
	}
	files, err := companionFiles(c.Dir)
	if err != nil {
		return 0, err
	}
	if err := c.renameCompanions(ctx, api, s, heads, files); err != nil {
		return 0, err
	}
	for i := range heads {
		h := &heads[i]
		of := library.FindCompanion(h.Name)
		if of == nil || !of.OfWorkspace && !document.ValidSlug(h.Slug) {
			continue // of a newer server
		}
		name := of.CompanionFile(h.Slug)
		path := files[name]
		if path == "" {
			path = filepath.Join(c.Dir, name)
			if beside := flows[h.Slug]; beside != "" && !of.OfWorkspace {
				path = filepath.Join(filepath.Dir(beside), name)
			}
		}
		data, _, err := api.ReadCompanion(ctx, h)
		if err != nil {
			return written, fmt.Errorf("%s: %w", name, err)
		}
		was, err := os.ReadFile(path)
		if err != nil && of.IsEmpty(data) {
			continue
		}
		if err == nil {
			if data = keepSchema(data, was); bytes.Equal(was, data) {
				continue
			}
		}
		if err := replaceFile(path, data, 0o644); err != nil {
			return written, err
		}
		written++
		fmt.Fprintln(s.Out, path)
	}
	return written, nil
}

// renameCompanions renames the files whose slug is a former one of a flow.
func (c Pull) renameCompanions(ctx context.Context, api *client.Client, s *Streams, heads []client.Companion, files map[string]string) error {
	current := map[string]bool{}
	for i := range heads {
		current[heads[i].Slug] = true
	}
	for name, path := range files {
		of, slug := companionOf(name)
		if of.OfWorkspace || current[slug] {
			continue
		}
		now, err := api.CurrentSlug(ctx, slug)
		if flow.IsNotFound(err) {
			continue // a new file, or that of an archived flow
		}
		if err != nil {
			return err
		}
		renamed := of.CompanionFile(now)
		target := filepath.Join(filepath.Dir(path), renamed)
		if now == slug || !document.ValidSlug(now) || exists(target) || files[renamed] != "" {
			continue
		}
		if err := os.Rename(path, target); err != nil {
			return err
		}
		delete(files, name)
		files[renamed] = target
		fmt.Fprintf(s.Out, "%s renamed to %s\n", path, target)
	}
	return nil
}

// companionFiles returns the paths of the companions below a directory by their names.
func companionFiles(dir string) (map[string]string, error) {
	names, err := findFiles([]string{dir})
	paths := map[string]string{}
	for _, path := range names {
		if c, _ := companionOf(path); c != nil {
			paths[filepath.Base(path)] = path
		}
	}
	return paths, err
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
		if f, err := readSource(name); err == nil && f.companion == nil && f.slug() != "" {
			paths[f.slug()] = name
		}
	}
	return paths, nil
}

// Fmt rewrites flow files in canonical form. It needs no server.
type Fmt struct {
	Paths []string `arg:"" name:"path" help:"Flow files and files beside them, or directories with files named *.flow.json, *.triggers.json."`
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
		data, problems := f.canonical()
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
