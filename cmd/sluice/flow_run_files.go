package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/sorting"
)

// inputValue parses the text of --input as a value of the type. A file is written as @ and
// a path, as in curl, as its URL, or as the ID of an uploaded file.
func inputValue(ctx context.Context, api *client.Client, kind flow.Type, text string) (any, error) {
	if kind != flow.TypeFile {
		return kind.Parse(text)
	}
	if path, isPath := strings.CutPrefix(text, "@"); isPath {
		return api.Upload(ctx, path)
	}
	if flow.ValidID(flow.PrefixFile, text) {
		return map[string]any{"file": text}, nil
	}
	if _, isRemote := flow.RemoteFileOf(text); isRemote {
		return text, nil
	}
	return nil, fmt.Errorf("expected a file, got the text %q; write @ and its path, such as @cat.png, or its URL", text)
}

// save downloads the files in the outputs of a run into --output-dir and
// returns their paths by ID.
func (c flowRunCmd) save(ctx context.Context, api *client.Client, run *client.Run) (paths map[string]string, err error) {
	if c.Dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("--output-dir: %w", err)
	}
	dir, err := os.OpenRoot(c.Dir) // refuses names that lead out of it, such as ../x
	if err != nil {
		return nil, fmt.Errorf("--output-dir: %w", err)
	}
	defer dir.Close()
	paths = map[string]string{}
	for name, v := range run.Outputs.All() {
		files := filesIn(v)
		for _, id := range sorting.Keys(files) { // IDs sort by creation time
			if paths[id] != "" {
				continue
			}
			saved, err := saveFile(ctx, api, dir, id, files[id])
			if err != nil {
				return nil, fmt.Errorf("saving the output %s: %w", name, err)
			}
			paths[id] = filepath.Join(c.Dir, saved)
		}
	}
	return paths, nil
}

// filesIn returns the names of the files in a value, by ID.
func filesIn(v any) map[string]string {
	names := map[string]string{}
	flow.MapFiles(v, func(id string, file map[string]any) map[string]any {
		names[id], _ = file["name"].(string)
		return file
	})
	return names
}

// saveFile writes a file under its name, with a number if that name is taken; it never
// overwrites. The name comes from a model or a web server and is not trusted: only its last
// element is used, inside the directory.
func saveFile(ctx context.Context, api *client.Client, dir *os.Root, id, name string) (saved string, err error) {
	content, err := api.Download(ctx, id)
	if err != nil {
		return "", err
	}
	defer content.Close()
	f, saved, err := createNew(dir, filepath.Base("/"+name))
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = dir.Remove(saved) // a partial file would look complete
	}
	return saved, err
}

// createNew creates a file under the first unused name of cat.png, cat-2.png and so on, and
// returns that name.
func createNew(dir *os.Root, name string) (f *os.File, numbered string, err error) {
	if name == "/" {
		name = "file"
	}
	ending := filepath.Ext(name)
	numbered = name
	for n := 2; ; n++ {
		f, err = dir.OpenFile(numbered, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, numbered, err
		}
		numbered = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ending), n, ending)
	}
}

// outputText returns a function that formats an output on one line. It shows a file with
// its name, type and the path it was saved to, or its URL.
func outputText(api *client.Client, saved map[string]string) func(any) string {
	location := func(id string, file map[string]any) string {
		switch path := saved[id]; {
		case path != "":
			return path
		case api.Temporary:
			return "--output-dir DIR saves it"
		}
		return flow.Text(file["url"])
	}
	return func(v any) string {
		if id, isFile := flow.FileID(v); isFile {
			file, _ := flow.AsMap(v)
			bytes, _ := flow.Float(file["size"])
			return fmt.Sprintf("%s (%s, %s): %s", flow.Text(file["name"]), flow.Text(file["mime"]), flow.Size(int64(bytes)), location(id, file))
		}
		return flow.Text(flow.MapFiles(v, func(id string, file map[string]any) map[string]any {
			file = maps.Clone(file)
			if path := saved[id]; path != "" {
				file["path"] = path
			}
			if api.Temporary {
				delete(file, "url")
			}
			return file
		}))
	}
}
