package nodes

import (
	"fmt"
	"maps"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// maxFallbacks bounds the models that are asked instead of the first.
const maxFallbacks = 5

// fallbackField lists the models to ask when the first one is not available. It can only
// be typed, so that the prices of all models are known before a run starts.
var fallbackField = flow.Field{Name: "fallback", Title: "Fallback models", Type: flow.FieldList, Typed: true, Max: ptr(maxFallbacks), More: true,
	Help: "Models to ask, in this order, when the retries of the one before ended with a rate limit, an outage or a timeout. Never after an answer that cost money."}

// fallbacks returns the models of the field.
func fallbacks(config map[string]any) (models []string) {
	list, _ := config["fallback"].([]any)
	for _, item := range list {
		if model := strings.TrimSpace(flow.Text(item)); model != "" {
			models = append(models, model)
		}
	}
	return models
}

// fallbackConfig is flow.Kind.Alternative: the config with the nth fallback model. The
// credential belongs to the first model, so another provider gets its own.
func fallbackConfig(config map[string]any, n int) (map[string]any, bool) {
	models := fallbacks(config)
	if n < 1 || n > len(models) {
		return nil, false
	}
	first, _, _ := providers.ParseModel(strings.TrimSpace(flow.Text(config["model"])))
	other, _, _ := providers.ParseModel(models[n-1])
	config = maps.Clone(config)
	if config["model"] = models[n-1]; other != first {
		delete(config, "credential")
	}
	return config, true
}

// checkFallback reports models that do not have the form provider/model.
func checkFallback(n *flow.Node) (problems []flow.Problem) {
	for i, model := range fallbacks(n.Config) {
		if _, _, ok := providers.ParseModel(model); !ok {
			problems = append(problems, flow.Problem{Pointer: fmt.Sprintf("/fallback/%d", i), Code: "invalid", Detail: "wanted provider/model such as " + taskChat.example})
		}
	}
	return problems
}
