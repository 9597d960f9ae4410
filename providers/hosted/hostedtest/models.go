package hostedtest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Model is one the fake has.
type Model struct {
	Owner, Name, Description string
	Official                 bool
	Schemas                  map[string]any // by name, as in #/components/schemas/…
	Older                    map[string]any // schemas of earlier versions by version ID
	Runs                     int
	Example                  any // output of the example prediction
	// Predict says what a prediction with this input does; nil: it gives its
	// input back at once.
	Predict func(input map[string]any) Script
}

// AddModel adds a model, or replaces the one of the same name.
func (f *Fake) AddModel(m Model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.models = slices.DeleteFunc(f.models, func(old *Model) bool { return old.Owner == m.Owner && old.Name == m.Name })
	f.models = append(f.models, &m)
}

// OnPredict replaces what predictions of a model do.
func (f *Fake) OnPredict(owner, name string, predict func(input map[string]any) Script) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.model(owner, name); m != nil {
		m.Predict = predict
	}
}

// Version is the newest version of a model: 64 hexadecimal digits that are the
// same in every test.
func Version(owner, name string) string {
	sum := sha256.Sum256([]byte(owner + "/" + name))
	return hex.EncodeToString(sum[:])
}

// model returns a model by its owner and name, or nil. The lock is held.
func (f *Fake) model(owner, name string) *Model {
	for _, m := range f.models {
		if m.Owner == owner && m.Name == name {
			return m
		}
	}
	return nil
}

// path returns owner/name, which is also the model's path in URLs.
func (m *Model) path() string { return m.Owner + "/" + m.Name }

// wire returns the model in the JSON of the platform's API. Links to other sites and
// the cover picture are null, as for many models there.
func (m *Model) wire() map[string]any {
	return map[string]any{
		"url": "https://replicate.com/" + m.path(), "owner": m.Owner, "name": m.Name, "description": m.Description,
		"visibility": "public", "run_count": m.Runs, "is_official": m.Official,
		"github_url": nil, "paper_url": nil, "license_url": nil, "cover_image_url": nil,
		"default_example": map[string]any{"output": m.Example},
		"latest_version":  wireVersion(Version(m.Owner, m.Name), m.Schemas),
	}
}

// wireVersion returns a version in the JSON of the platform's API. The schemas of
// inputs and outputs are in the OpenAPI document of Cog, the container that runs the
// model.
func wireVersion(id string, schemas any) map[string]any {
	return map[string]any{
		"id": id, "created_at": time.Unix(1.7e9, 0).UTC().Format(time.RFC3339Nano), "cog_version": "0.16.0",
		"openapi_schema": map[string]any{
			"openapi": "3.0.2", "info": map[string]any{"title": "Cog", "version": "0.1.0"},
			"paths": map[string]any{}, "components": map[string]any{"schemas": schemas},
		},
	}
}

// showModel is GET /v1/models/{owner}/{name}: the model with its newest version.
func (f *Fake) showModel(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.model(r.PathValue("owner"), r.PathValue("name"))
	if m == nil {
		notFound(w)
		return
	}
	answer(w, http.StatusOK, m.wire())
}

// showVersion is GET /v1/models/{owner}/{name}/versions/{version}, for the newest
// version and those in Older.
func (f *Fake) showVersion(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.model(r.PathValue("owner"), r.PathValue("name"))
	id := r.PathValue("version")
	switch {
	case m != nil && id == Version(m.Owner, m.Name):
		answer(w, http.StatusOK, wireVersion(id, m.Schemas))
	case m != nil && m.Older[id] != nil:
		answer(w, http.StatusOK, wireVersion(id, m.Older[id]))
	default:
		notFound(w)
	}
}

// listModels is GET /v1/models: all models in the order in which they were added, in
// pages.
func (f *Fake) listModels(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.page(w, r, wireModels(f.models))
}

// wireModels returns models in the JSON of the platform's API. The list is never null.
func wireModels(models []*Model) []any {
	out := []any{}
	for _, m := range models {
		out = append(out, m.wire())
	}
	return out
}

// page answers with the part of a list that the cursor points at.
func (f *Fake) page(w http.ResponseWriter, r *http.Request, all []any) {
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	from = min(max(from, 0), len(all))
	to := min(from+f.PageSize, len(all))
	body := map[string]any{"previous": nil, "next": nil, "results": all[from:to]}
	if to < len(all) {
		body["next"] = f.api.url + r.URL.Path + "?cursor=" + strconv.Itoa(to)
	}
	answer(w, http.StatusOK, body)
}

// listCollections is GET /v1/collections: all collections without their models, in
// pages.
func (f *Fake) listCollections(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []any{}
	for _, c := range f.collections {
		all = append(all, map[string]any{"slug": c.Slug, "name": c.Name, "description": c.Description})
	}
	f.page(w, r, all)
}

// showCollection is GET /v1/collections/{slug}: a collection with its models.
func (f *Fake) showCollection(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.collections, func(c Collection) bool { return c.Slug == r.PathValue("slug") })
	if i < 0 {
		notFound(w)
		return
	}
	c := f.collections[i]
	models := slices.DeleteFunc(slices.Clone(f.models), func(m *Model) bool { return !slices.Contains(c.Models, m.path()) })
	answer(w, http.StatusOK, map[string]any{
		"slug": c.Slug, "name": c.Name, "description": c.Description, "models": wireModels(models),
	})
}

// matching are the models with a word in their name or description.
func (f *Fake) matching(query string) []*Model {
	query = strings.ToLower(query)
	return slices.DeleteFunc(slices.Clone(f.models), func(m *Model) bool {
		return !strings.Contains(strings.ToLower(m.path()+" "+m.Description), query)
	})
}

// search is GET /v1/search: the models whose path or description contains the query,
// with the metadata that only this route has.
func (f *Fake) search(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.URL.Query().Get("query")
	models := []any{}
	for _, m := range f.matching(query) {
		models = append(models, map[string]any{"model": m.wire(), "metadata": map[string]any{"tags": []any{}, "score": 1}})
	}
	answer(w, http.StatusOK, map[string]any{"query": query, "models": models, "collections": []any{}, "pages": []any{}})
}
