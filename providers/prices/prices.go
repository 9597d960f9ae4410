package prices

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// compressed is the shipped list, gzipped to a sixth of its size.
//
//go:embed prices.json.gz
var compressed []byte

// listIDs maps Sluice's name of a provider to the ID in the list, where they differ. Providers
// that are neither here nor in sameIDs have no prices: a credential with a base URL can have
// any name.
var listIDs = map[string]string{"gemini": "google", "xai": "x-ai"}

// sameIDs are the providers whose name in the list is the one in Sluice.
var sameIDs = []string{"openai", "anthropic", "mistral", "groq", "together", "openrouter", "deepseek", "fireworks", "cerebras", "perplexity"}

// hub routes to other providers, which are a suffix of the model: huggingface/model:novita.
const hub = "huggingface"

// Used reports whether Sluice looks up prices of a provider of the list.
func Used(id string) bool {
	if strings.HasPrefix(id, hub+"_") || slices.Contains(sameIDs, id) {
		return true
	}
	for _, other := range listIDs {
		if id == other {
			return true
		}
	}
	return false
}

// List is a price list. It is safe for concurrent use.
type List struct {
	Source, Date string
	providers    map[string][]listed
}

type listed struct {
	match  Match
	id     string
	prices []conditional
}

// Shipped returns the list that is part of the program.
var Shipped = sync.OnceValue(func() *List {
	l, err := readShipped()
	if err != nil {
		panic("prices: the shipped list: " + err.Error()) // a test reads it
	}
	return l
})

func readShipped() (*List, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, err
	}
	return Read(data)
}

// Load reads a list from a file, for prices that are newer than the program. The file may
// also be the data.json of genai-prices. That has no date, so the file's modification time
// is used.
func Load(path string) (*List, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not a price list: %w", path, err)
	}
	if l.Source == "" {
		l.Source = path
	}
	if info, err := os.Stat(path); err == nil && l.Date == "" {
		l.Date = info.ModTime().UTC().Format(time.DateOnly)
	}
	return l, nil
}

// Read parses a list: a File, or only the array of its providers.
func Read(data []byte) (*List, error) {
	var f File
	var into any = &f
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		into = &f.Providers
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, err
	}
	if len(f.Providers) == 0 {
		return nil, fmt.Errorf("it has no providers")
	}
	l := &List{Source: f.Source, Date: f.Date, providers: map[string][]listed{}}
	for i := range f.Providers {
		p := &f.Providers[i]
		for j := range p.Models {
			m := &p.Models[j]
			entry := listed{match: m.Match, id: m.ID}
			if err := entry.match.compile(); err != nil {
				return nil, fmt.Errorf("%s/%s: %w", p.ID, m.ID, err)
			}
			var err error
			if entry.prices, err = readPrices(m.Prices); err != nil {
				return nil, fmt.Errorf("%s/%s: %w", p.ID, m.ID, err)
			}
			l.providers[p.ID] = append(l.providers[p.ID], entry)
		}
	}
	return l, nil
}

// compactDate matches the date at the end of a model's name, which some providers
// write without hyphens.
var compactDate = regexp.MustCompile(`-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(-|:|$)`)

// Find returns the price of a model, written provider/model, at a time, and whether
// the list has one.
func (l *List) Find(model string, at time.Time) (p flow.Price, known bool) {
	provider, name, _ := strings.Cut(strings.ToLower(strings.TrimSpace(model)), "/")
	id := listIDs[provider]
	switch {
	case slices.Contains(sameIDs, provider):
		id = provider
	case provider == hub:
		model, behind, _ := strings.Cut(name, ":")
		id, name = hub+"_"+behind, model
	}
	for _, name := range []string{name, compactDate.ReplaceAllString(name, "-$1-$2-$3$4")} {
		for i := range l.providers[id] {
			if e := &l.providers[id][i]; e.match.matches(name) {
				tokens, ok := e.at(at)
				return flow.Price{Model: model, Tokens: tokens}, ok
			}
		}
	}
	return flow.Price{}, false
}

// at returns the prices at a time, and false for a model that is only priced in other
// units, such as hours of audio.
func (e *listed) at(at time.Time) (*flow.TokenPrices, bool) {
	found := e.prices[0].Prices
	for _, c := range slices.Backward(e.prices) {
		if applies, err := c.applies(at); applies && err == nil {
			found = c.Prices
			break
		}
	}
	_, input := found["input_mtok"]
	_, output := found["output_mtok"]
	_, calls := found["requests_kcount"]
	return &flow.TokenPrices{
		Input: found.rate("input_mtok"), Output: found.rate("output_mtok"), CacheRead: found.rate("cache_read_mtok"),
		CacheWrite: found.rate("cache_write_mtok"), CacheWriteHour: found.rate("cache_write_1h_mtok"), Reasoning: found.rate("output_reasoning_mtok"),
		Call: flow.USDOf(found["requests_kcount"].Base / 1000),
	}, input || output || calls
}

// rate converts a price in dollars; nil means that the unit has no price.
func (r rates) rate(unit string) *flow.TokenRate {
	given, ok := r[unit]
	if !ok {
		return nil
	}
	rate := &flow.TokenRate{Price: flow.USDOf(given.Base)}
	for _, t := range given.Tiers {
		rate.Tiers = append(rate.Tiers, flow.TokenTier{Above: t.Start, Price: flow.USDOf(t.Price)})
	}
	sorting.By(rate.Tiers, func(a, b flow.TokenTier) int { return int(a.Above - b.Above) })
	return rate
}

// Book finds prices. A price that the workspace entered takes precedence over the list. It
// implements flow.PriceStore.
type Book struct {
	Store flow.PriceStore // prices of workspaces
	List  *List
	Now   func() time.Time
}

// FindPrice implements flow.PriceStore.
func (b *Book) FindPrice(ctx context.Context, ws flow.WorkspaceID, model string) (flow.Price, bool, error) {
	p, known, err := b.Store.FindPrice(ctx, ws, model)
	if err != nil || known || b.List == nil {
		return p, known, err
	}
	p, known = b.List.Find(model, b.Now())
	return p, known, nil
}

// About returns the source and the date of the list, which are shown beside costs.
func (l *List) About() (source, date string) { return l.Source, l.Date }

// Search returns the prices of the models whose name contains a text, sorted by name. It
// searches the names of the list, not aliases that only Match accepts.
func (l *List) Search(text string, at time.Time) (found []flow.Price) {
	text = strings.ToLower(text)
	for id, models := range l.providers {
		provider := id
		for ours, other := range listIDs {
			if id == other {
				provider = ours
			}
		}
		suffix := ""
		if behind, ok := strings.CutPrefix(id, hub+"_"); ok {
			provider, suffix = hub, ":"+behind
		}
		for i := range models {
			name := provider + "/" + models[i].id + suffix
			if !strings.Contains(strings.ToLower(name), text) {
				continue
			}
			if tokens, ok := models[i].at(at); ok {
				found = append(found, flow.Price{Model: name, Tokens: tokens})
			}
		}
	}
	sorting.By(found, func(a, b flow.Price) int { return strings.Compare(a.Model, b.Model) })
	return found
}
