package nodes

import (
	"fmt"
	"maps"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// maxFallbacks is the maximum number of fallback models.
const maxFallbacks = 5

// fallbackField lists the models to try when the first one is unavailable. It has no port,
// so that the prices of all models are known before a run starts.
var fallbackField = flow.Field{Name: "fallback", Title: "Fallback models", Type: flow.FieldList, Typed: true, Max: ptr(maxFallbacks), More: true,
	Help: "Tried in order if the model is rate limited, down or too slow."}

// fallbacks returns the models in the field.
func fallbacks(config map[string]any) (models []string) {
	list, _ := config["fallback"].([]any)
	for _, item := range list {
		if model := strings.TrimSpace(flow.Text(item)); model != "" {
			models = append(models, model)
		}
	}
	return models
}

// fallbackConfig implements flow.Kind.Alternative: it returns the config with the nth
// fallback model. The chosen credential belongs to the provider of the first model, so it
// is dropped for a model of another provider.
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
