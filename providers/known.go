package providers

import (
	_ "embed" // for known.json
	"encoding/json"
	"slices"
	"sync"
)

//go:generate go run ./generate

// knownFile lists well-known chat models with their context window and list price.
// It is a dated snapshot from @pydantic/genai-prices (MIT License, copyright Pydantic
// Services Inc.), so that users can choose a model before they connect a provider.
//
//go:embed known.json
var knownFile []byte

// KnownModels is the shipped snapshot of well-known models.
type KnownModels struct {
	// Date is the day of the snapshot, such as 2026-09-23.
	Date      string
	providers map[string][]Model
}

// Known returns the shipped snapshot.
var Known = sync.OnceValue(func() *KnownModels {
	var file struct {
		Date      string
		Providers map[string][]struct {
			ID            string
			Context       int64
			Input, Output *int64
		}
	}
	if err := json.Unmarshal(knownFile, &file); err != nil {
		panic("the shipped list of known models cannot be read: " + err.Error())
	}
	k := &KnownModels{Date: file.Date, providers: map[string][]Model{}}
	for name, list := range file.Providers {
		for _, m := range list {
			model := Model{ID: m.ID, Context: m.Context}
			if m.Input != nil && m.Output != nil {
				model.Price = &ModelPrice{InputNanoUSD: *m.Input, OutputNanoUSD: *m.Output, AsOf: file.Date}
			}
			addAbilities(name, &model)
			k.providers[name] = append(k.providers[name], model)
		}
	}
	return k
})

// Models returns the known chat models of a provider, or none. The result may be changed.
func (k *KnownModels) Models(provider string) []Model { return slices.Clone(k.providers[provider]) }

// Context returns the context window of a model in tokens, or 0 if it is not known.
func (k *KnownModels) Context(provider, id string) int64 {
	if at := slices.IndexFunc(k.providers[provider], func(m Model) bool { return m.ID == id }); at >= 0 {
		return k.providers[provider][at].Context
	}
	return 0
}

// Complete adds context windows and prices from the snapshot that the provider's own list
// does not have, and the abilities of the models' families. Models are matched by their exact ID only,
// because a similar name may have another price.
func (k *KnownModels) Complete(provider string, models []Model) {
	for i := range models {
		addAbilities(provider, &models[i])
		at := slices.IndexFunc(k.providers[provider], func(known Model) bool { return known.ID == models[i].ID })
		if at < 0 {
			continue
		}
		known := k.providers[provider][at]
		if models[i].Context == 0 {
			models[i].Context = known.Context
		}
		if models[i].Price == nil {
			models[i].Price = known.Price
		}
	}
}
