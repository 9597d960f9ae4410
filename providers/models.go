package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/flow/sorting"
)

// maxModels bounds a list; the longest known one has a few hundred entries.
const maxModels = 10_000

// Models lists the models of a provider, in the provider's order.
func (c *Client) Models(ctx context.Context, ep Endpoint) ([]Model, error) {
	s, err := c.open(ep)
	if err != nil {
		return nil, err
	}
	if !s.preset.Models {
		return nil, &Error{Class: ClassIncompatible, Message: s.name + " has no list of models. Type the name of one."}
	}
	if s.preset.Wire == WireAnthropic {
		return s.pagedModels(ctx)
	}
	var list modelList
	if err := s.getJSON(ctx, s.base.JoinPath("models").String(), &list); err != nil {
		return nil, err
	}
	return list.models(), nil
}

// pagedModels reads Anthropic's list, which is paginated.
func (s *session) pagedModels(ctx context.Context) ([]Model, error) {
	var all []Model
	for after := ""; len(all) < maxModels; {
		page := s.base.JoinPath("models")
		query := url.Values{"limit": {"1000"}}
		if after != "" {
			query.Set("after_id", after)
		}
		page.RawQuery = query.Encode()
		var list modelList
		if err := s.getJSON(ctx, page.String(), &list); err != nil {
			return nil, err
		}
		all = append(all, list.models()...)
		if !list.more || list.last == "" || list.last == after {
			break
		}
		after = list.last
	}
	return all[:min(len(all), maxModels)], nil
}

// getJSON requests a URL with the credential of the session and decodes the response.
func (s *session) getJSON(ctx context.Context, target string, into any) error {
	resp, err := s.sendTo(ctx, http.MethodGet, target, "", nil, 0, "")
	if err != nil {
		return err
	}
	return s.decode(resp, into)
}

// modelList is a list of models in any of the formats of providers: under data (OpenAI),
// under models, or bare (Together).
type modelList struct {
	entries []modelEntry
	more    bool
	last    string
}

// modelEntry holds the fields of a Model under the names that providers use.
type modelEntry struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	DisplayName  string `json:"display_name"`
	OwnedBy      string `json:"owned_by"`
	Created      any    `json:"created"` // in seconds since 1970
	Organization string `json:"organization"`
	modelFacts
}

// UnmarshalJSON accepts a bare array, and an object with the entries in data or else in
// models, with the cursor of Anthropic's pages.
func (l *modelList) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &l.entries)
	}
	var object struct {
		Data    []modelEntry `json:"data"`
		Models  []modelEntry `json:"models"`
		HasMore bool         `json:"has_more"`
		LastID  string       `json:"last_id"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	l.entries, l.more, l.last = object.Data, object.HasMore, object.LastID
	if len(l.entries) == 0 {
		l.entries = object.Models
	}
	return nil
}

// models returns at most maxModels models. Entries without an ID or a name are
// omitted, and a title that repeats the ID is dropped.
func (l *modelList) models() []Model {
	out := make([]Model, 0, min(len(l.entries), maxModels))
	for _, e := range l.entries[:min(len(l.entries), maxModels)] {
		id := strings.TrimPrefix(cmp.Or(e.ID, e.Name), "models/") // Gemini's prefix; calls accept both forms
		if id == "" {
			continue
		}
		title := cmp.Or(e.DisplayName, e.Name)
		if title == id {
			title = ""
		}
		m := Model{ID: id, Title: title, Owner: cmp.Or(e.OwnedBy, e.Organization)}
		if seconds, ok := e.Created.(float64); ok && seconds > 0 {
			m.Created = int64(seconds)
		}
		e.addTo(&m)
		out = append(out, m)
	}
	return out
}

// Search returns the models whose ID, title or owner contains every word of the query, best
// first: those whose ID equals the query, begins with it, contains it, and then the rest,
// each in the order of the list.
func Search(models []Model, query string) []Model {
	query = strings.ToLower(strings.TrimSpace(query))
	words := strings.Fields(query)
	var found []Model
	for _, m := range models {
		text := strings.ToLower(m.ID + " " + m.Title + " " + m.Owner)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, m)
		}
	}
	sorting.By(found, func(a, b Model) int { return cmp.Compare(rank(a, query), rank(b, query)) })
	return found
}

// NewestFirst sorts models so that the newest of each family comes first: by the time that the list
// states for all of them, or else by the numbers in their IDs. Families keep their order.
func NewestFirst(models []Model) {
	if !slices.ContainsFunc(models, func(m Model) bool { return m.Created == 0 }) {
		sorting.By(models, func(a, b Model) int { return cmp.Compare(b.Created, a.Created) })
		return
	}
	order, of := map[string]int{}, map[string]int{}
	versions := map[string][]int{}
	for _, m := range models {
		name, version := family(m.ID)
		if _, known := order[name]; !known {
			order[name] = len(order)
		}
		of[m.ID], versions[m.ID] = order[name], version
	}
	sorting.By(models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(of[a.ID], of[b.ID]), slices.Compare(versions[b.ID], versions[a.ID]))
	})
}

// family returns the part of an ID that names a family of models, and the numbers in it: those of
// claude-sonnet-4-5 and claude-sonnet-4 are claude-sonnet, and 4, 5 and 4.
func family(id string) (name string, numbers []int) {
	within := false
	var letters strings.Builder
	for _, r := range strings.ToLower(id) {
		digit := '0' <= r && r <= '9'
		switch {
		case digit && within:
			last := &numbers[len(numbers)-1]
			*last = min(*last*10+int(r-'0'), 1<<31)
		case digit:
			numbers = append(numbers, int(r-'0'))
		case 'a' <= r && r <= 'z' || r == '/':
			letters.WriteRune(r)
		}
		within = digit
	}
	return letters.String(), numbers
}

// rank returns the rank of a model in the results for a lowercase query, lowest first: equal IDs, those that begin with it, those that contain it, and then others.
// The part before the first slash may be missing in the query.
func rank(m Model, query string) int {
	id := strings.ToLower(m.ID)
	_, name, _ := strings.Cut(id, "/") // as in meta-llama/llama-…
	switch {
	case query == "":
		return 0
	case id == query || name == query:
		return 0
	case strings.HasPrefix(id, query) || strings.HasPrefix(name, query):
		return 1
	case strings.Contains(id, query):
		return 2
	}
	return 3
}
