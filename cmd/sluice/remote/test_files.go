package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/document"
)

// testsName is the name of the companion with the cases of a flow.
const testsName = "tests"

// TestFiles are flow files with the cases beside them, and the flows that these run.
type TestFiles struct {
	// Slugs are the flows with cases, in order.
	Slugs []string
	flows map[string]*source // by slug; those that others run too
	tests map[string]*source // the cases by slug
}

// ReadTestFiles reads flow files, or directories with them. A flow or a file with cases takes the other with it, and a flow those that it
// runs, if they are in the same directory.
func ReadTestFiles(paths []string) (*TestFiles, error) {
	list, err := readSources(paths)
	if err != nil {
		return nil, err
	}
	t := &TestFiles{flows: map[string]*source{}, tests: map[string]*source{}}
	for _, f := range list {
		if err := t.add(f); err != nil {
			return nil, err
		}
	}
	for _, f := range list {
		if err := t.addBeside(f); err != nil {
			return nil, err
		}
	}
	for slug := range t.tests {
		if t.flows[slug] == nil {
			return nil, fmt.Errorf("%s has cases, but there is no %s%s beside it", t.tests[slug].path, slug, fileSuffix)
		}
		t.Slugs = append(t.Slugs, slug)
	}
	if len(t.Slugs) == 0 {
		return nil, fmt.Errorf("there is no SLUG.tests.json in %s. Write one beside SLUG%s; see docs/tests", strings.Join(paths, ", "), fileSuffix)
	}
	slices.Sort(t.Slugs)
	return t, nil
}

// add adds a flow, or cases. Other files beside flows do not matter to tests.
func (t *TestFiles) add(f *source) error {
	files := t.flows
	switch {
	case f.companion == nil:
		if f.slug() == "" { // a file with any name
			if o, ok := flow.AsObject(f.value); ok {
				name, _ := o.Get("name").(string)
				o.Set("slug", document.Slugify(name))
			}
		}
	case f.companion.Name == testsName:
		files = t.tests
	default:
		return nil
	}
	if first := files[f.slug()]; first != nil && first.path != f.path {
		return fmt.Errorf("%s and %s are files of one flow, %s; test one of them", first.path, f.path, f.slug())
	}
	files[f.slug()] = f
	return nil
}

// addBeside adds the files in the directory of one that belong to it.
func (t *TestFiles) addBeside(f *source) error {
	dir, slug := filepath.Dir(f.path), f.slug()
	if f.companion != nil {
		if f.companion.Name != testsName {
			return nil
		}
		return t.addFlow(dir, slug)
	}
	if beside := filepath.Join(dir, slug+".tests.json"); t.tests[slug] == nil && exists(beside) {
		found, err := readSource(beside)
		if err != nil {
			return err
		}
		t.tests[slug] = found
	}
	for _, below := range flowsIn(f.value) {
		if err := t.addFlow(dir, below); err != nil {
			return err
		}
	}
	return nil
}

// addFlow adds the flow with a slug, if there is a file for it in the directory, with those that it runs.
func (t *TestFiles) addFlow(dir, slug string) error {
	path := filepath.Join(dir, slug+fileSuffix)
	if t.flows[slug] != nil || !exists(path) {
		return nil
	}
	f, err := readSource(path)
	if err != nil {
		return err
	}
	t.flows[slug] = f
	for _, next := range flowsIn(f.value) {
		if err := t.addFlow(dir, next); err != nil {
			return err
		}
	}
	return nil
}

// flowsIn returns the slugs of the flows that the nodes of a document run.
func flowsIn(v any) (slugs []string) {
	o, _ := flow.AsObject(v)
	nodes, _ := o.Get("nodes").([]any)
	for _, n := range nodes {
		node, _ := flow.AsObject(n)
		config, ok := flow.AsObject(node.Get("config"))
		if !ok {
			continue
		}
		if slug, _ := config.Get("flow").(string); document.ValidSlug(slug) {
			slugs = append(slugs, slug)
		}
	}
	return slugs
}

// Dir returns the directory with the recordings of a flow.
func (t *TestFiles) Dir(slug string) string {
	return recordingsDir(filepath.Dir(t.tests[slug].path), slug)
}

// Load makes the flows of a server, which has none, equal to the files, as drafts, with their cases and recordings.
func (t *TestFiles) Load(ctx context.Context, api *client.Client) error {
	var files []*source
	for _, slug := range sortedNames(t.flows) {
		files = append(files, t.flows[slug])
	}
	for _, slug := range t.Slugs {
		files = append(files, t.tests[slug])
	}
	ids, err := t.upload(ctx, api)
	if err != nil {
		return err
	}
	r := client.ApplyRequest{Documents: sentValues(files, false), Companions: withIDs(sentValues(files, true), ids)}
	if _, _, _, err := api.Apply(ctx, r); err != nil {
		return applyError(files, err)
	}
	for _, slug := range t.Slugs {
		if _, err := SendRecordings(ctx, api, slug, t.Dir(slug)); err != nil {
			return err
		}
	}
	return nil
}

// upload sends the files that cases use. They are in the directory files of the recordings, each in a directory named after the ID that cases
// know it by. It returns the new IDs by the old ones.
func (t *TestFiles) upload(ctx context.Context, api *client.Client) (map[string]string, error) {
	ids := map[string]string{}
	for _, slug := range t.Slugs {
		paths, err := filepath.Glob(filepath.Join(t.Dir(slug), "files", "file_*", "*"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			uploaded, err := api.Upload(ctx, path)
			if err != nil {
				return nil, err
			}
			ids[filepath.Base(filepath.Dir(path))], _ = uploaded["file"].(string)
		}
	}
	return ids, nil
}

// withIDs replaces IDs of files in values.
func withIDs(list []any, ids map[string]string) []any {
	if len(ids) == 0 {
		return list
	}
	for i := range list {
		text := string(flow.EncodeJSON(list[i]))
		for old, now := range ids {
			text = strings.ReplaceAll(text, `"`+old+`"`, `"`+now+`"`)
		}
		if v, err := flow.DecodeJSON([]byte(text)); err == nil {
			list[i] = v
		}
	}
	return list
}

// PullFiles saves the files that the cases of a flow use beside its recordings, so that tests of the files have them. Files that exist stay.
func PullFiles(ctx context.Context, api *client.Client, s *Streams, flowID, dir string) (written int, err error) {
	raw, err := api.Call(ctx, http.MethodGet, "/v1/flow/"+flowID+"/cases", nil)
	if err != nil {
		return 0, err
	}
	var all struct{ Cases json.RawMessage }
	if err := json.Unmarshal(raw, &all); err != nil {
		return 0, err
	}
	v, err := flow.DecodeJSON(all.Cases)
	if err != nil {
		return 0, err
	}
	for _, id := range flow.FileIDs(v) {
		target := filepath.Join(dir, "files", id)
		if exists(target) || !flow.ValidID(flow.PrefixFile, id) {
			continue
		}
		n, err := downloadFile(ctx, api, id, target)
		if err != nil {
			return written, err
		}
		written++
		fmt.Fprintf(s.Out, "%s  a file of a case, %s\n", target, flow.Size(n))
	}
	return written, nil
}

// downloadFile saves a file under a neutral name in a new directory.
func downloadFile(ctx context.Context, api *client.Client, id, dir string) (n int64, err error) {
	content, err := api.Download(ctx, id)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	f, err := os.Create(filepath.Join(dir, "content"))
	if err != nil {
		return 0, err
	}
	if n, err = f.ReadFrom(content); err == nil {
		err = f.Close()
	} else {
		_ = f.Close() // the first error counts
	}
	if err != nil {
		_ = os.RemoveAll(dir) // a partial file would look complete
	}
	return n, err
}
