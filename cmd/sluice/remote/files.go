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
	"sluice/flow/library"
	"sluice/flow/value"
	"sluice/nodes"
	"sluice/nodes/expression"
)

// fileSuffix is the suffix of flow files. The name before it is the flow's slug, unless the
// document has another.
const fileSuffix = ".flow.json"

// companionOf returns the companion whose file has a name, such as SLUG.triggers.json, and the slug in that name, or nil.
func companionOf(path string) (*library.Companion, string) {
	for _, c := range library.ListCompanions() {
		slug, ok := strings.CutSuffix(filepath.Base(path), c.Suffix())
		if ok && (c.OfWorkspace && slug == library.WorkspaceFile || !c.OfWorkspace && document.ValidSlug(slug)) {
			return c, slug
		}
	}
	return nil, ""
}

// fileNames describes the names of the files that commands find in directories.
func fileNames() string {
	names := "*" + fileSuffix
	for _, c := range library.ListCompanions() {
		names += ", *" + c.Suffix()
	}
	return names
}

// checkExpression returns an error for a wrong expression over names.
func checkExpression(source string, names ...string) error {
	_, err := expression.Compile(source, names...)
	return err
}

// findFiles returns the given files, which may have any name, and the flow files and companions in and below
// the given directories. It skips hidden directories, such as .git, which have copies and
// backups.
func findFiles(paths []string) ([]string, error) {
	var list []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && p != path && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case !e.IsDir() && (p == path || isOurs(p)):
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

// CheckCompanion returns the problems of a file beside a flow. beside is false for other files.
func CheckCompanion(path string, data []byte) (problems []flow.Problem, beside bool) {
	c, _ := companionOf(path)
	if c == nil {
		return nil, false
	}
	_, problems = c.FormatCompanion(data, checkExpression)
	return problems, true
}

// isOurs reports whether a file is a flow file or a companion by its name.
func isOurs(path string) bool {
	c, _ := companionOf(path)
	return c != nil || strings.HasSuffix(path, fileSuffix)
}

// source is a file with a flow, or a companion.
type source struct {
	path      string
	data      []byte             // as on disk
	value     any                // the document as decoded JSON, with a slug if the name of the file has one
	sent      any                // sent by an apply: value, or an export, which the server converts
	companion *library.Companion // nil for a flow
}

// slug returns the slug in the document or in the name of a companion, or "".
func (f *source) slug() string {
	if f.companion != nil {
		_, slug := companionOf(f.path)
		return slug
	}
	members, _ := flow.AsMap(f.value)
	slug, _ := members["slug"].(string)
	return slug
}

// readSource reads a flow file. It only checks the syntax, since the server may have another
// version, other node kinds and other credentials. It converts an export of AI-Flow, whose
// slug is the name of the file, because such an export has no name.
func readSource(path string) (*source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseSource(path, data)
}

// parseSource is like readSource for the content of a file.
func parseSource(path string, data []byte) (f *source, err error) {
	f = &source{path: path, data: data}
	if f.companion, _ = companionOf(path); f.companion != nil {
		if f.value, err = flow.DecodeJSON(bytes.TrimPrefix(data, []byte("\ufeff"))); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, lastLine(data), err)
		}
		sent := value.NewObject()
		if !f.companion.OfWorkspace {
			sent.Set("slug", f.slug())
		}
		sent.Set("content", f.value)
		f.sent = sent
		return f, nil
	}
	if aiflow.Recognize(data) {
		d, _, err := aiflow.Convert(data, nodes.New(nodes.Deps{}))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		data = d.Compact()
		export, err := flow.DecodeJSON(bytes.TrimPrefix(f.data, []byte("\ufeff")))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f.sent = value.NewObject(value.Member{Name: "ai_flow", Value: export})
	}
	if f.value, err = flow.DecodeJSON(data); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, lastLine(data), err)
	}
	members, ok := flow.AsObject(f.value)
	if name, found := strings.CutSuffix(filepath.Base(path), fileSuffix); ok && found && members.Get("slug") == nil && document.ValidSlug(name) {
		members.Set("slug", name)
		if export, ok := flow.AsObject(f.sent); ok {
			export.Set("slug", name)
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
		return nil, fmt.Errorf("there is no %s in %s; check the path", fileNames(), strings.Join(paths, ", "))
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
func (f *source) located(p flow.Problem) string { return Located(f.path, f.data, p) }

// Located formats a problem of a document as FILE:LINE: WHERE: WHAT.
func Located(path string, data []byte, p flow.Problem) string {
	at := ""
	if p.Pointer != "" {
		at = strings.TrimPrefix(p.Pointer, "/") + ": "
	}
	return fmt.Sprintf("%s:%d: %s%s", path, lineOf(data, p.Pointer), at, p.Detail)
}

// split returns the flow files and the companions among files.
func split(files []*source) (flows, beside []*source) {
	for _, f := range files {
		if f.companion == nil {
			flows = append(flows, f)
		} else {
			beside = append(beside, f)
		}
	}
	return flows, beside
}

// locate formats the problems of a request whose members "documents" and "companions" have the files. It replaces
// a pointer such as /documents/3/nodes/0 with the file and a line.
func locate(files []*source, problems []flow.Problem) []string {
	flows, beside := split(files)
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = p.String()
		of := flows
		rest, ok := strings.CutPrefix(p.Pointer, "/documents/")
		if !ok {
			rest, ok = strings.CutPrefix(p.Pointer, "/companions/")
			of = beside
		}
		number, rest, _ := strings.Cut(rest, "/")
		if n, err := strconv.Atoi(number); ok && err == nil && n < len(of) {
			if rest != "" {
				rest = "/" + rest
			}
			list[i] = of[n].located(flow.Problem{Pointer: strings.TrimPrefix(rest, "/content"), Detail: p.Detail})
		}
	}
	return list
}

// lineOf returns the line, counted from 1, of the value that a JSON pointer names or, if it is
// missing, of the innermost object around it. It compares the pointer with that of the decoder
// after each token. The decoder's pointer at a member's name is that of the member, so the
// result is the line of the name.
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

// lastLine returns the line of the first token that is not JSON. The decoder stops at the end
// of the last valid token, which may be lines above, so lastLine skips blanks and punctuation
// after it.
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

// lineAt returns the line, counted from 1, of an offset in bytes. An offset beyond the end
// counts as the last line.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}

// canonical returns a file in canonical form, or its problems.
func (f *source) canonical() ([]byte, []flow.Problem) {
	if f.companion != nil {
		data, problems := f.companion.FormatCompanion(f.data, checkExpression)
		if len(problems) > 0 {
			return nil, problems
		}
		return keepSchema(data, f.data), nil
	}
	data := f.data
	d, problems := document.ParseDocument(data)
	if len(problems) > 0 {
		return nil, problems
	}
	return keepSchema(d.Encode(), data), nil
}

// keepSchema adds the $schema of a file to an exported document. Editors use it for completion
// and validation; it is not part of the flow, so exports do not have it.
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

// replaceFile replaces a file atomically: it writes a temporary file in the same directory and
// renames it. Editors that watch the file would otherwise load a partial one.
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
