package nodes

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// findServer returns the running local server of a preset.
func findServer(local LocalServers, preset string) (providers.LocalServer, bool) {
	for _, s := range local.Found() {
		if s.Preset.Name == preset {
			return s, true
		}
	}
	return providers.LocalServer{}, false
}

// localModel returns the default model: one of a server on this machine, which costs nothing
// and keeps the data local.
func (d Deps) localModel(in *flow.In, t task) (*target, error) {
	if chosen := in.Config["credential"]; chosen != nil && chosen != "" {
		return nil, flow.Errorf(flow.CodeInputInvalid, "A credential is chosen but no model. Choose a model of its provider, such as %s.", t.example)
	}
	found := d.Local.Found()
	for _, s := range found {
		if !t.can(s.Preset.Capabilities) {
			continue
		}
		for _, model := range s.Models {
			if suits(t, model.ID) {
				return &target{ref: s.Preset.Name + "/" + model.ID, model: model.ID, preset: s.Preset,
					at: providers.Endpoint{Provider: s.Preset.Name, BaseURL: s.BaseURL, Trusted: true}}, nil
			}
		}
	}
	return nil, noModel(found, t)
}

// otherUses are parts of the names of models that cannot chat. Servers do not report what
// their models are for.
var otherUses = []string{"embed", "bge-", "minilm", "gte-", "e5-", "paraphrase", "rerank", "whisper", "tts", "clip", "guard"}

// suits guesses from its name whether a local model suits a task. Only chat models are chosen
// by default.
func suits(t task, model string) bool {
	name := strings.ToLower(model)
	return t.name == taskChat.name && !slices.ContainsFunc(otherUses, func(part string) bool { return strings.Contains(name, part) })
}
