package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/cases"
)

// Recorded results of a flow are files of their own in the directory SLUG.tests, beside SLUG.tests.json. A file never changes: another prompt or
// another input is another file.

// recordingsDir returns the directory with the recordings of a flow, beside its file.
func recordingsDir(dir, slug string) string { return filepath.Join(dir, slug+".tests") }

// addedAtOnce is how many recordings one request sends, and maxSentRecordings how many bytes.
const (
	addedAtOnce       = 200
	maxSentRecordings = 16 << 20
)

// recordingPage is one page of the recordings of a flow.
type recordingPage struct {
	Recordings []json.RawMessage `json:"recordings"`
	NextCursor *string           `json:"next_cursor"`
}

// recordingsPath returns the path of the recordings of a flow in the API.
func recordingsPath(flowID string) string {
	return "/v1/flow/" + url.PathEscape(flowID) + "/recordings"
}

// readRecordings returns the recordings in a directory by file name; none if there is no such directory.
func readRecordings(dir string) (map[string]json.RawMessage, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]json.RawMessage{}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		v, err := flow.DecodeJSON(data)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, lastLine(data), err)
		}
		if _, problems := cases.ParseRecording(v); len(problems) > 0 {
			return nil, fmt.Errorf("%s", Located(path, data, problems[0]))
		}
		found[e.Name()] = flow.EncodeJSON(v)
	}
	return found, nil
}

// SendRecordings adds the recordings in the directory of a flow to a server. It returns how many were new there.
func SendRecordings(ctx context.Context, api *client.Client, flowID, dir string) (added int, err error) {
	found, err := readRecordings(dir)
	if err != nil {
		return 0, err
	}
	var page []json.RawMessage
	size := 0
	send := func() error {
		if len(page) == 0 {
			return nil
		}
		raw, err := api.Call(ctx, http.MethodPost, recordingsPath(flowID), map[string]any{"recordings": page})
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		var done struct{ Added int }
		if err := json.Unmarshal(raw, &done); err != nil {
			return err
		}
		added, page, size = added+done.Added, nil, 0
		return nil
	}
	for _, name := range sortedNames(found) {
		if len(page) == addedAtOnce || size+len(found[name]) > maxSentRecordings {
			if err := send(); err != nil {
				return added, err
			}
		}
		page, size = append(page, found[name]), size+len(found[name])
	}
	return added, send()
}

// sortedNames returns the names of files in order.
func sortedNames[V any](files map[string]V) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unsafeName matches what a file name should not have.
var unsafeName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// recordingFile returns the name of the file of a recording.
func recordingFile(r *flow.Recording) string {
	name := fmt.Sprintf("%.60s-%.12s-%.16s", unsafeName.ReplaceAllString(r.Node, "_"), r.NodeHash, r.InputHash)
	if r.Repeat > 0 {
		name += fmt.Sprintf("-%d", r.Repeat)
	}
	return name + ".json"
}

// PullRecordings writes the recordings of a flow to a directory, and prints each new file with what it holds. It refuses ones with texts that
// look like secrets, and writes none then. Files that exist stay as they are.
func PullRecordings(ctx context.Context, api *client.Client, s *Streams, flowID, dir string) (written int, err error) {
	files := map[string][]byte{}
	texts := map[string]string{}
	var secrets []string
	for cursor := ""; ; {
		path := recordingsPath(flowID) + "?limit=100"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		raw, err := api.Call(ctx, http.MethodGet, path, nil)
		if err != nil {
			return 0, err
		}
		var page recordingPage
		if err := json.Unmarshal(raw, &page); err != nil {
			return 0, err
		}
		for _, text := range page.Recordings {
			v, err := flow.DecodeJSON(text)
			if err != nil {
				return 0, err
			}
			r, problems := cases.ParseRecording(v)
			if len(problems) > 0 {
				return 0, fmt.Errorf("the server sent a recording that this version does not know: %s", problems[0])
			}
			name := recordingFile(r)
			if exists(filepath.Join(dir, name)) {
				continue
			}
			for _, at := range findSecrets(v, "") {
				secrets = append(secrets, filepath.Join(dir, name)+": "+strings.TrimPrefix(at, "/"))
			}
			var b bytes.Buffer
			if err := json.Indent(&b, flow.EncodeJSON(v), "", "  "); err != nil {
				return 0, err
			}
			b.WriteByte('\n')
			files[name], texts[name] = b.Bytes(), fmt.Sprintf("the result of %s, %s", r.Node, flow.Size(int64(b.Len())))
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	if len(secrets) > 0 {
		return 0, fmt.Errorf("these recordings have texts that look like secrets, so none was written. Remove the secrets from what the services answer, or give the nodes stubs.\n  %s", strings.Join(secrets[:min(len(secrets), maxListed)], "\n  "))
	}
	if len(files) > 0 {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
	}
	for _, name := range sortedNames(files) {
		path := filepath.Join(dir, name)
		if err := replaceFile(path, files[name], 0o644); err != nil {
			return written, err
		}
		written++
		fmt.Fprintf(s.Out, "%s  %s\n", path, texts[name])
	}
	return written, nil
}

// maxListed is how many places with secrets an error lists.
const maxListed = 20

// findSecrets returns pointers to texts that look like secrets, by the rules by which documents of flows are checked: known forms of tokens, and
// names of secrets with a value.
func findSecrets(v any, at string) (found []string) {
	switch v := v.(type) {
	case string:
		for _, word := range strings.Fields(v) {
			if flow.LooksSecret(strings.Trim(word, `"',;()[]{}<>`)) && !isHash(word) {
				return []string{at}
			}
		}
	case []any:
		for i := range v {
			found = append(found, findSecrets(v[i], at+flow.Pointer(i))...)
		}
	default:
		o, ok := flow.AsObject(v)
		if !ok {
			return nil
		}
		for name, item := range o.All() {
			here := at + flow.Pointer(name)
			if at == "" && (name == "node_hash" || name == "input_hash") {
				continue
			}
			if name == "credential" && o.Len() == 1 { // the name of one
				continue
			}
			if text, isText := item.(string); isText && text != "" && text != flow.Redacted && flow.IsSecretMember(name, text) {
				found = append(found, here)
				continue
			}
			found = append(found, findSecrets(item, here)...)
		}
	}
	return found
}

var hash = regexp.MustCompile(`^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|(?:file|run|flow)_[0-9a-z]{26})$`)

// isHash reports whether a word is a hash or an ID of Sluice, which only looks like a secret.
func isHash(word string) bool { return hash.MatchString(strings.Trim(word, `"',;()[]{}<>`)) }
