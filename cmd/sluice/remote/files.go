package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/document/aiflow"
	"sluice/nodes"
)

// fileSuffix ends the name of a file with a flow. What precedes it is the flow's slug,
// unless the document has another.
const fileSuffix = ".flow.json"

// findFiles returns the given files, and those with flows in the given directories and below
// them. A file that is given may have any name. Hidden directories are left out: .git has
// copies of everything, and tools keep backups in theirs.
func findFiles(paths []string) ([]string, error) {
	var list []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && p != path && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case !e.IsDir() && (p == path || strings.HasSuffix(p, fileSuffix)):
				list = append(list, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// source is a file with a flow.
type source struct {
	path  string
	data  []byte // as on disk
	value any    // the document as decoded JSON, with a slug if the name of the file has one
	sent  any    // what an apply sends: value, or an export, whose conversion the server reports
}

// slug returns the slug in the document, or "".
func (f *source) slug() string {
	members, _ := f.value.(map[string]any)
	slug, _ := members["slug"].(string)
	return slug
}

// readSource reads a flow file. It only checks the syntax: the server may be of another version,
// and knows which kinds and credentials it has. An export of AI-Flow is converted; its slug
// is that of the file, because such an export has no name.
func readSource(path string) (*source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseSource(path, data)
}

// parseSource is readSource for the content of a file.
func parseSource(path string, data []byte) (f *source, err error) {
	f = &source{path: path, data: data}
	if aiflow.Recognize(data) {
		d, _, err := aiflow.Convert(data, nodes.New(nodes.Deps{}))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		data = d.Canonical()
		export, err := flow.DecodeJSON(bytes.TrimPrefix(f.data, []byte("\ufeff")))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f.sent = map[string]any{"ai_flow": export}
	}
	if f.value, err = flow.DecodeJSON(data); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, lastLine(data), err)
	}
	members, ok := f.value.(map[string]any)
	if name, found := strings.CutSuffix(filepath.Base(path), fileSuffix); ok && found && members["slug"] == nil && document.ValidSlug(name) {
		members["slug"] = name
		if export, ok := f.sent.(map[string]any); ok {
			export["slug"] = name
		}
	}
	if f.sent == nil {
		f.sent = f.value
	}
	return f, nil
}

// readSources reads flow files. The error names every file that cannot be read.
func readSources(paths []string) ([]*source, error) {
	names, err := findFiles(paths)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no *%s in %s; check the path", fileSuffix, strings.Join(paths, ", "))
	}
	var list []*source
	var bad []string
	for _, name := range names {
		f, err := readSource(name)
		if err != nil {
			bad = append(bad, err.Error())
		}
		list = append(list, f)
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s cannot be read. Nothing was sent.\n  %s", flow.Count(len(bad), "file"), strings.Join(bad, "\n  "))
	}
	return list, nil
}

// located formats a problem of a document with the line of its file.
func (f *source) located(p flow.Problem) string {
	at := ""
	if p.Pointer != "" {
		at = strings.TrimPrefix(p.Pointer, "/") + ": "
	}
	return fmt.Sprintf("%s:%d: %s%s", f.path, lineOf(f.data, p.Pointer), at, p.Detail)
}

// locate formats the problems of a request whose member "documents" has the files. A pointer
// such as /documents/3/nodes/0 becomes the file and a line.
func locate(files []*source, problems []flow.Problem) []string {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = p.String()
		rest, ok := strings.CutPrefix(p.Pointer, "/documents/")
		number, rest, _ := strings.Cut(rest, "/")
		if n, err := strconv.Atoi(number); ok && err == nil && n < len(files) {
			if rest != "" {
				rest = "/" + rest
			}
			list[i] = files[n].located(flow.Problem{Pointer: rest, Detail: p.Detail})
		}
	}
	return list
}

// lineOf returns the line of the value that a JSON pointer names or, if that is missing, of the
// innermost object around it. Lines count from 1, as in editors. The decoder is asked for its
// own pointer after each token, so that escapes and nested arrays need no parser here; the
// pointer of a member's name is that of the member, which gives the line of the name.
func lineOf(data []byte, pointer string) int {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	line, deepest := 1, 0
	for {
		if _, err := d.ReadToken(); err != nil {
			return line
		}
		at := string(d.StackPointer())
		if len(at) > deepest && (at == pointer || strings.HasPrefix(pointer, at+"/")) {
			line, deepest = lineAt(data, d.InputOffset()), len(at)
		}
	}
}

// lastLine returns the line of the first token that is not JSON. The decoder stops before it, at
// the end of the last valid token, which may be lines above; the blanks and punctuation in
// between are skipped.
func lastLine(data []byte) int {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.ReadToken(); err != nil {
			rest := data[min(int(d.InputOffset()), len(data)):]
			blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
			return lineAt(data, d.InputOffset()+int64(blank))
		}
	}
}

// lineAt returns the line, counted from 1, of an offset in bytes. An offset beyond the end is in
// the last line.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}

// canonical returns a document in the form that exports have, or its problems.
func canonical(data []byte) ([]byte, []flow.Problem) {
	d, problems := document.ParseDocument(data)
	if len(problems) > 0 {
		return nil, problems
	}
	return keepSchema(d.Encode(), data), nil
}

// keepSchema adds the $schema of a file to a document in the form of exports. Only files
// have one: it tells editors how to complete and check them, and is not part of the flow.
func keepSchema(exported, file []byte) []byte {
	var was struct {
		Schema string `json:"$schema"`
	}
	rest, isObject := bytes.CutPrefix(exported, []byte("{\n"))
	if json.Unmarshal(file, &was) != nil || was.Schema == "" || !isObject {
		return exported
	}
	return slices.Concat([]byte("{\n  \"$schema\": "), flow.EncodeJSON(was.Schema), []byte(",\n"), rest)
}

// replaceFile writes a file so that readers see the old content or the new one, never
// a part: the content goes to a temporary file beside it, which then takes its name. Editors
// that watch the file would otherwise load an empty one.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".sluice-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
