package hosted

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"

	"sluice/providers"
)

// maxPages bounds how many pages of a list are requested.
const maxPages = 10

// Account implements Host.
func (p *Replicate) Account(ctx context.Context, secret string) (string, error) {
	var account struct{ Username, Name string }
	err := p.get(ctx, secret, p.url("account"), "this account", &account)
	if err != nil {
		return "", err
	}
	if account.Username == "" {
		account.Username = account.Name
	}
	return oneLine(account.Username, 100), nil
}

// Describe implements Host.
func (p *Replicate) Describe(ctx context.Context, secret string, ref Ref) (*Model, error) {
	var w wireModel
	err := p.get(ctx, secret, p.url("models", ref.Owner, ref.Name), "the model "+ref.Path(), &w)
	if err != nil {
		return nil, err
	}
	version := w.LatestVersion
	if ref.Version != "" && (version == nil || version.ID != ref.Version) {
		version = &wireVersion{}
		err := p.get(ctx, secret, p.url("models", ref.Owner, ref.Name, "versions", ref.Version), "this version of the model "+ref.Path(), version)
		if err != nil {
			return nil, err
		}
	}
	if version == nil || version.ID == "" {
		return nil, &providers.Error{Class: providers.ClassIncompatible,
			Message: "The model " + ref.Path() + " has no version that can be used yet."}
	}
	return w.model(ref, version), nil
}

// Collections returns the platform's categories, without their models.
func (p *Replicate) Collections(ctx context.Context, secret string) ([]Collection, error) {
	var out []Collection
	next := p.url("collections")
	for page := 0; next != "" && page < maxPages; page++ {
		var w struct {
			Next    *string
			Results []wireCollection
		}
		if err := p.get(ctx, secret, next, "its collections", &w); err != nil {
			return nil, err
		}
		for _, c := range w.Results {
			out = append(out, c.collection())
		}
		next = p.nextPage(w.Next)
	}
	return out, nil
}

// nextPage returns the URL of the next page if it is on the API's server, since the secret is
// sent there.
func (p *Replicate) nextPage(next *string) string {
	if next == nil {
		return ""
	}
	u, err := url.Parse(*next)
	if err != nil || !p.trusts(p.base.ResolveReference(u)) {
		return ""
	}
	return p.base.ResolveReference(u).String()
}

// Collection returns a category with its models.
func (p *Replicate) Collection(ctx context.Context, secret, slug string) (*Collection, error) {
	var w wireCollection
	err := p.get(ctx, secret, p.url("collections", slug), "the collection "+slug, &w)
	if err != nil {
		return nil, err
	}
	c := w.collection()
	for i := range c.Models {
		c.Models[i].Category = c.Slug
	}
	return &c, nil
}

// Search implements Host.
func (p *Replicate) Search(ctx context.Context, secret, query string) ([]Listing, error) {
	var w struct {
		Models []struct{ Model wireModel }
	}
	address := p.url("search") + "?" + url.Values{"query": {query}}.Encode()
	if err := p.get(ctx, secret, address, "its search", &w); err != nil {
		return nil, err
	}
	out := make([]Listing, 0, len(w.Models))
	for _, m := range w.Models {
		if l, ok := m.Model.listing(); ok {
			out = append(out, l)
		}
	}
	return out, nil
}

// get requests a resource and decodes it into out. subject names the resource in error
// messages, as in "the model acme/paint".
func (p *Replicate) get(ctx context.Context, secret, address, subject string, out any) error {
	return p.ask(ctx, secret, call{method: http.MethodGet, url: address, subject: subject}, out)
}

// wireCollection is a collection in the JSON of the platform's API. Lists of
// collections leave Models empty.
type wireCollection struct {
	Slug, Name, Description string
	Models                  []wireModel
}

// collection converts it, with markup removed from texts. Models whose owner or name is
// not valid are left out.
func (w *wireCollection) collection() Collection {
	c := Collection{Slug: w.Slug, Title: oneLine(w.Name, 100), Description: sentences(w.Description)}
	for _, m := range w.Models {
		if l, ok := m.listing(); ok {
			c.Models = append(c.Models, l)
		}
	}
	return c
}

// wireModel is a model in the JSON of the platform's API.
type wireModel struct {
	Owner, Name, Description string
	CoverImageURL            string               `json:"cover_image_url"`
	RunCount                 any                  `json:"run_count"`
	IsOfficial               bool                 `json:"is_official"`
	LatestVersion            *wireVersion         `json:"latest_version"`
	DefaultExample           struct{ Output any } `json:"default_example"`
}

// wireVersion is a version of a model in the JSON of the platform's API. Only its ID
// and its schemas are read.
type wireVersion struct {
	ID            string
	OpenAPISchema struct {
		Components struct{ Schemas map[string]any }
	} `json:"openapi_schema"`
}

// runs returns how often the model was run. A value that is not a number is 0: the
// platform leaves it out for some models.
func (w *wireModel) runs() int64 {
	n, _ := number(w.RunCount)
	return int64(min(max(n, 0), 1e15))
}

// model returns the model with the schemas of one of its versions. Version stays empty
// if the platform hides it.
func (w *wireModel) model(ref Ref, version *wireVersion) *Model {
	id := version.ID
	if !versionPattern.MatchString(id) {
		id = "" // the platform hides the versions of some of its own models
	}
	m := &Model{
		Ref:   Ref{Owner: ref.Owner, Name: ref.Name, Version: id},
		Title: titleOf(ref.Name), Description: sentences(w.Description),
		Official: w.IsOfficial, Runs: w.runs(),
	}
	m.setSchemas(version.OpenAPISchema.Components.Schemas)
	return m
}

// setSchemas sets the schemas of a version that describe its input and output.
func (m *Model) setSchemas(all map[string]any) {
	m.Input, _ = all["Input"].(map[string]any)
	m.Output, _ = all["Output"].(map[string]any)
	m.All = all
	if m.Input != nil {
		m.All = reachable(all, "Input", "Output")
	}
}

// listing converts it for lists. ok is false if owner or name is invalid.
func (w *wireModel) listing() (Listing, bool) {
	if !ownerPattern.MatchString(w.Owner) || !ownerPattern.MatchString(w.Name) {
		return Listing{}, false
	}
	l := Listing{
		Owner: w.Owner, Name: w.Name, Title: titleOf(w.Name), Description: sentences(w.Description),
		Official: w.IsOfficial, Runs: w.runs(), CoverURL: coverURL(w.CoverImageURL),
	}
	if w.LatestVersion != nil {
		m := &Model{}
		m.setSchemas(w.LatestVersion.OpenAPISchema.Components.Schemas)
		if m.Input != nil {
			l.Output = listedOutput(outputOf(m, newResolver(m.All)), w.DefaultExample.Output)
		}
	}
	return l, true
}

// coverURL returns the address of a cover picture if it is an https URL, else "". The
// browser loads it directly.
func coverURL(address string) string {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return address
}

// mediaOf returns the type of a file's content by the extension of its name.
var mediaOf = map[string]string{
	".png": "image", ".jpg": "image", ".jpeg": "image", ".webp": "image", ".gif": "image", ".svg": "image", ".avif": "image",
	".mp4": "video", ".webm": "video", ".mov": "video",
	".mp3": "audio", ".wav": "audio", ".ogg": "audio", ".flac": "audio", ".m4a": "audio",
}

// listedOutput returns the type of a model's output in one word. A schema only says that it
// is a file, so the type of file comes from the model's example.
func listedOutput(o Output, example any) string {
	switch o.Type {
	case OutputText:
		return "text"
	case OutputFile, OutputFiles:
		if list, ok := example.([]any); ok && len(list) > 0 {
			example = list[0]
		}
		address, _ := example.(string)
		u, err := url.Parse(address)
		if err != nil || mediaOf[strings.ToLower(path.Ext(u.Path))] == "" {
			return "file"
		}
		return mediaOf[strings.ToLower(path.Ext(u.Path))]
	}
	return "json"
}
