package providers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// maxProbe is the maximum number of bytes of a response that are read. A list of models is
// smaller, and other servers may send anything.
const maxProbe = 1 << 20

// prober probes one address and keeps its list of models.
type prober struct {
	client *http.Client
	origin string
	models []Model
}

// signs recognize each server by responses that no other server sends. Sluice itself listens
// on the default port of llama.cpp and sends none of them.
var signs = map[string]func(context.Context, *prober) bool{
	// Only Ollama lists its models with their digests at /api/tags; while it has
	// none, its version tells.
	nameOllama: func(ctx context.Context, p *prober) bool {
		var tags struct {
			Models []struct {
				Digest *string `json:"digest"`
			} `json:"models"`
		}
		if !p.get(ctx, "/api/tags", &tags) || len(tags.Models) > 0 && tags.Models[0].Digest == nil {
			return false
		}
		return (len(tags.Models) > 0 || p.has(ctx, "/api/version", "version")) && p.list(ctx, nil)
	},
	// LM Studio's own list names the kind and state of every model.
	nameLMStudio: func(ctx context.Context, p *prober) bool {
		return p.has(ctx, "/api/v0/models", "data") && p.list(ctx, nil)
	},
	// llama.cpp's server names itself as owner; older ones have /props.
	nameLlamaCpp: func(ctx context.Context, p *prober) bool {
		owned := func(m Model) bool { return m.Owner == "llamacpp" }
		return p.list(ctx, owned) || p.has(ctx, "/props", "default_generation_settings") && p.list(ctx, nil)
	},
	nameVLLM: func(ctx context.Context, p *prober) bool {
		return p.has(ctx, "/version", "version") && p.list(ctx, func(m Model) bool { return m.Owner == "vllm" })
	},
}

// get decodes a JSON response and reports whether there was one.
func (p *prober) get(ctx context.Context, path string, into any) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.origin+path, nil)
	if err != nil {
		return false
	}
	req.Header = http.Header{"User-Agent": {"Sluice"}, "Accept": {"application/json"}}
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProbe+1))
	return err == nil && len(data) <= maxProbe && resp.StatusCode == http.StatusOK && json.Unmarshal(data, into) == nil
}

// has reports whether the response is an object with a field.
func (p *prober) has(ctx context.Context, path, field string) bool {
	var object map[string]json.RawMessage
	if !p.get(ctx, path, &object) {
		return false
	}
	value, ok := object[field]
	return ok && strings.TrimSpace(string(value)) != ""
}

// list reads /v1/models and reports whether a model satisfies wanted; if wanted is nil, it
// also accepts an empty list.
func (p *prober) list(ctx context.Context, wanted func(Model) bool) bool {
	var list modelList
	if !p.get(ctx, "/v1/models", &list) {
		return false
	}
	models := list.models()
	ok := wanted == nil
	for _, m := range models {
		ok = ok || wanted(m)
	}
	if ok {
		p.models = models
	}
	return ok
}
