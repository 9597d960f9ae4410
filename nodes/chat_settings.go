package nodes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/nodes/errtext"
	"sluice/providers"
)

// maxStops is the maximum number of stop sequences: OpenAI's limit. All other providers
// accept at least as many.
const maxStops = 4

// chatSettings are the fields of a chat node that few flows need.
var chatSettings = []flow.Field{
	{Name: "top_p", Title: "Top p", Type: flow.FieldNumber, Min: ptr(0), Max: ptr(1), More: true,
		Help: "Considers only the most likely tokens up to this probability. Set this or the temperature."},
	{Name: "stop", Title: "Stop sequences", Type: flow.FieldList, Max: ptr(maxStops), More: true,
		Help: "The answer ends before any of these texts. At most 4."},
	{Name: "seed", Title: "Seed", Type: flow.FieldInteger, More: true,
		Help: "The same seed tends to give the same answer. Anthropic ignores it."},
	{Name: "reasoning_effort", Title: "Reasoning effort", Type: flow.FieldSelect, Options: providers.Efforts, More: true,
		Help: "How much a reasoning model thinks first. Empty: the provider's setting."},
	{Name: "thinking_budget", Title: "Thinking budget", Type: flow.FieldInteger, Min: ptr(1), More: true,
		Help: "Tokens that a reasoning model may think. Set this or the reasoning effort."},
	{Name: "web_search", Title: "Web search", Type: flow.FieldBoolean, More: true,
		Help: "The provider charges for searches. For Anthropic, Azure OpenAI, OpenAI, OpenRouter, Perplexity and xAI."},
	{Name: "extra", Title: "Extra parameters", Type: flow.FieldJSON, More: true,
		Help: "JSON that is merged into the request to the provider. null removes a parameter."},
}

// protected are the parameters of a request that the field "extra" must not set: they
// determine the price and the format of the answer.
var protected = []string{"model", "messages", "input", "stream", "n"}

// readSettings reads the settings of a chat node into a request.
func readSettings(in *flow.In, r *providers.ChatRequest) (err error) {
	if r.Temperature, err = optionalNumber(in, "temperature", 0, 2); err != nil {
		return err
	}
	if r.TopP, err = optionalNumber(in, "top_p", 0, 1); err != nil {
		return err
	}
	if r.MaxTokens, err = optionalCount(in, "max_tokens"); err != nil {
		return err
	}
	if r.ThinkingBudget, err = optionalCount(in, "thinking_budget"); err != nil {
		return err
	}
	if r.Effort, err = optionalChoice(in, "reasoning_effort", providers.Efforts); err != nil {
		return err
	}
	if in.Config["seed"] != nil {
		seed, err := wholeNumber(in, "seed", math.MinInt32, math.MaxInt32)
		if err != nil {
			return err
		}
		r.Seed = new(int64(seed))
	}
	if r.Stop, err = readStops(in); err != nil {
		return err
	}
	r.WebSearch = in.Config["web_search"] == true
	r.Extra, err = readExtra(in.Config["extra"])
	return err
}

// readStops returns the stop sequences, untrimmed: a line break is a common one.
func readStops(in *flow.In) ([]string, error) {
	list, _ := in.Config["stop"].([]any)
	var stops []string
	for _, item := range list {
		if s := flow.Text(item); s != "" {
			stops = append(stops, s)
		}
	}
	if len(stops) > maxStops {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%q has %d texts; the limit is %d.", "stop", len(stops), maxStops)
	}
	return stops, nil
}

// readExtra returns the extra parameters: an object or, from an edge, the JSON text of one.
func readExtra(value any) (map[string]any, error) {
	if text, isText := value.(string); isText {
		if value, _ = flow.DecodeJSON([]byte(text)); blank(text) { // nil is no object
			return nil, nil
		}
	} else if value == nil {
		return nil, nil
	}
	if wrong := extraProblem(value); wrong != "" {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%q cannot be used: %s.", "extra", wrong)
	}
	object, _ := flow.AsMap(value)
	return object, nil
}

// extraProblem returns the problem with extra parameters, or "". They must not replace
// protected ones: with another model or stream, the answer could not be read.
func extraProblem(value any) string {
	object, ok := flow.AsMap(value)
	if !ok {
		return "wanted a JSON object, got " + errtext.Type(value)
	}
	for _, name := range protected {
		if _, has := object[name]; has {
			return fmt.Sprintf("it must not set %q", name)
		}
	}
	return ""
}

// checkSettings reports typed settings that are invalid.
func checkSettings(n *flow.Node) []flow.Problem {
	value := n.Config["extra"]
	if text, isText := value.(string); value == nil || isText && blank(text) {
		return nil
	}
	if wrong := extraProblem(value); wrong != "" {
		return []flow.Problem{{Pointer: "/extra", Code: "invalid", Detail: wrong}}
	}
	return nil
}

// chargeChat extends chargeModel by an estimate of the tokens.
func chargeChat(config map[string]any) (flow.Charge, bool) {
	c, paid := chargeModel(config)
	c.Tokens = true
	c.Use = flow.TokenUse{Input: textTokens(config["prompt"], config["system"], config["schema"], config["messages"]), Output: defaultMaxTokens}
	if images, ok := config["images"].([]any); ok {
		c.Use.Input += int64(len(images)) * tokensPerImage
	} else if config["images"] != nil {
		c.Use.Input += tokensPerImage
	}
	if provider, model, _ := providers.ParseModel(strings.TrimSpace(flow.Text(config["model"]))); len(flow.Text(config["system"])) > 0 {
		if p, _ := providers.FindPreset(provider); p.CacheMarks(model) {
			c.Use.CacheWrite = textTokens(config["system"]) // costs more than other input
		}
	}
	if most := maxAnswer(config); most > 0 {
		c.Use.Output = most
	} else {
		c.Use.Output += thinkingTokens(config)
	}
	return c, paid
}

// maxAnswer returns the typed limit of the answer in tokens, or 0. Extra parameters may
// raise it under the names that providers use.
func maxAnswer(config map[string]any) int64 {
	values := []any{config["max_tokens"]}
	if extra, _ := flow.AsMap(config["extra"]); extra != nil {
		values = append(values, extra["max_tokens"], extra["max_completion_tokens"], extra["max_output_tokens"])
	}
	var most float64
	for _, v := range values {
		f, _ := flow.Float(v)
		most = max(most, f)
	}
	return int64(min(most, 1e9))
}

// thinkingTokens returns how many tokens the model may spend on reasoning, in addition to
// its answer.
func thinkingTokens(config map[string]any) int64 {
	r := providers.ChatRequest{Effort: flow.Text(config["reasoning_effort"])}
	if budget, ok := flow.Float(config["thinking_budget"]); ok && budget > 0 {
		r.ThinkingBudget = int(min(budget, 1e9))
	}
	if !slices.Contains(providers.Efforts, r.Effort) {
		r.Effort = ""
	}
	return int64(r.Budget())
}
