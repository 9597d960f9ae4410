package nodes

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/providers"
	"sluice/providers/hosted"
)

var _ HostedModels = (*hosted.Directory)(nil)

// hostedUse returns a hosted node to test in a new flow.
func hostedUse(config, ports map[string]any) use {
	return use{kind: "hosted_model", config: config, ports: ports}
}

func hostedDeps(h *memoryHost) Deps { return Deps{Host: h, Models: h} }

func TestHostedModel_converts_input(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		config, ports map[string]any
		want          string
	}{
		{"sends only what was set", map[string]any{"input.prompt": "a fox"}, nil, `{"prompt":"a fox"}`},
		{"fills templates in", map[string]any{"input.prompt": "a {{animal}}"}, map[string]any{"animal": "fox"}, `{"prompt":"a fox"}`},
		{"takes an edge over what was typed", map[string]any{"input.prompt": "a fox"}, map[string]any{"input.prompt": "a hen"}, `{"prompt":"a hen"}`},
		{"coerces what comes by edges", map[string]any{"input.prompt": "x"},
			map[string]any{"input.width": "128", "input.upscale": "true", "input.strength": "0.5", "input.steps": "20", "input.tags": "one"},
			`{"prompt":"x","steps":20,"strength":0.5,"tags":["one"],"upscale":true,"width":128}`},
		{"takes a number for a text", map[string]any{}, map[string]any{"input.prompt": flow.Number(7)}, `{"prompt":"7"}`},
		{"leaves empty choices and files out", map[string]any{"input.prompt": "x"},
			map[string]any{"input.scheduler": "", "input.image": ""}, `{"prompt":"x"}`},
		{"keeps the type of a choice", map[string]any{"input.prompt": "x", "input.steps": flow.Number(50)}, nil, `{"prompt":"x","steps":50}`},
		{"passes URLs on", map[string]any{"input.prompt": "x", "input.image": "https://example.com/a.png", "input.images": []any{"https://example.com/b.png"}}, nil,
			`{"image":"https://example.com/a.png","images":["https://example.com/b.png"],"prompt":"x"}`},
		{"reads JSON that comes as a text", map[string]any{"input.prompt": "x"}, map[string]any{"input.layers": `[{"mask": "m"}]`}, `{"layers":[{"mask":"m"}],"prompt":"x"}`},
		{"turns a check off only when it was typed", map[string]any{"input.prompt": "x", "input.disable_safety_checker": true}, nil,
			`{"disable_safety_checker":true,"prompt":"x"}`},
	}
	for _, tt := range tests {
		for _, kept := range []bool{true, false} {
			name := tt.name + ", without a kept schema"
			if kept {
				name = tt.name
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newMemoryHost(play{})
				config := map[string]any{"model": "acme/painter"}
				for k, v := range tt.config {
					config[k] = v
				}
				if kept {
					config = painting(t, painter, config)
				}
				hostedUse(config, tt.ports).succeeds(t, hostedDeps(h))
				same(t, "input", h.asked[0].Input, mustDecode(t, tt.want))
			})
		}
	}
}

// TestHostedModel_accepts_inputs_as_object passes all inputs as one object.
func TestHostedModel_accepts_inputs_as_object(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schemas string
		config, ports map[string]any
		want          string // the input that the model gets
		code          flow.Code
	}{
		{"of a model without a schema", `{}`, map[string]any{"input": map[string]any{"prompt": "a {{animal}}", "size": flow.Number(3)}}, map[string]any{"animal": "fox"}, `{"prompt":"a fox","size":3}`, ""},
		{"by an edge", `{}`, nil, map[string]any{"input": map[string]any{"nested": map[string]any{"a": []any{true}}}}, `{"nested":{"a":[true]}}`, ""},
		{"by an edge, as text", `{}`, nil, map[string]any{"input": `{"a": 1}`}, `{"a":1}`, ""},
		{"with one set on its own", `{}`, map[string]any{"input": map[string]any{"a": "1", "b": "2"}, "input.b": "3"}, nil, `{"a":"1","b":"3"}`, ""},
		{"of nothing at all", `{}`, nil, nil, `{}`, ""},
		{"of a model with a schema", painter, map[string]any{"input": map[string]any{"prompt": "x", "width": "128"}}, nil, `{"prompt":"x","width":128}`, ""},
		{"which the schema refuses", painter, map[string]any{"input": map[string]any{"prompt": "x", "width": "9"}}, nil, "", flow.CodeInputInvalid},
		{"that is a list", `{}`, nil, map[string]any{"input": []any{"x"}}, "", flow.CodeInputInvalid},
		{"that is plain text", `{}`, nil, map[string]any{"input": "x"}, "", flow.CodeInputInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newMemoryHost(play{})
			h.add("acme/open", tt.schemas)
			config := map[string]any{"model": "acme/open"}
			maps.Copy(config, tt.config)
			if tt.code != "" {
				hostedUse(config, tt.ports).fails(t, hostedDeps(h), tt.code)
				return
			}
			hostedUse(config, tt.ports).succeeds(t, hostedDeps(h))
			same(t, "input", h.asked[0].Input, mustDecode(t, tt.want))
		})
	}
	t.Run("uploads files in the object", func(t *testing.T) {
		t.Parallel()
		w, h := newFixture(), newMemoryHost(play{})
		h.add("acme/open", `{}`)
		fox := w.files.put(t, "fox.png", "image/png", "FOX")
		config := map[string]any{"model": "acme/open", "input": map[string]any{"images": []any{fox}}}
		if r := hostedUse(config, nil).executeIn(t, w, hostedDeps(h)); r.Error != nil {
			t.Fatal(r.Error)
		}
		same(t, "input", h.asked[0].Input, map[string]any{"images": []any{"https://api.replicate.com/v1/files/1"}})
	})
	t.Run("rejects secrets in the object", func(t *testing.T) {
		t.Parallel()
		problems := hostedUse(map[string]any{"model": "acme/open", "input": map[string]any{"api_key": "sk-1"}}, nil).problems(t)
		if len(problems) != 1 || !strings.Contains(problems[0].Pointer, "/input/api_key") {
			t.Errorf("%v", problems)
		}
	})
	t.Run("keeps the version of a model without a schema", func(t *testing.T) {
		t.Parallel()
		n := flow.Node{ID: "n", Kind: "hosted_model", Config: map[string]any{"schema": map[string]any{"version": "old"}}}
		m := modelOf("acme/open", strings.Repeat("a", 64), `{}`)
		if err := PinModel(&n, m); err != nil {
			t.Fatal(err)
		}
		same(t, "config", n.Config, map[string]any{"model": "acme/open", "version": m.Version})
	})
}

func mustDecode(t *testing.T, text string) any {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHostedModel_starts_pinned_version(t *testing.T) {
	t.Parallel()
	h := newMemoryHost(play{end: hosted.Prediction{Output: "x"}})
	hostedUse(painting(t, writer, map[string]any{"hold_s": flow.Number(7)}), nil).succeeds(t, hostedDeps(h))
	official := h.add("acme/painter", painter)
	official.Official = true
	hostedUse(map[string]any{"model": "acme/painter", "input.prompt": "x"}, nil).succeeds(t, hostedDeps(h))
	a, b := h.asked[0], h.asked[1]
	if a.Path() != "acme/painter" || a.Version != strings.Repeat("a", 64) || !a.Stream || a.Wait != 7*time.Second || a.Official {
		t.Errorf("a kept schema starts %+v", a)
	}
	if !b.Official || b.Stream || b.Wait != 0 {
		t.Errorf("an official model starts %+v", b)
	}
	for _, secret := range h.secrets {
		if secret != "secret-of-replicate" {
			t.Errorf("started with %q", secret)
		}
	}
}

func TestHostedModel_uploads_files(t *testing.T) {
	t.Parallel()
	h, w := newMemoryHost(play{}), newFixture()
	fox, hen := w.files.put(t, "fox.png", "image/png", "FOX"), w.files.put(t, "hen", "image/png", "HEN")
	config := painting(t, painter, map[string]any{"input.prompt": "x", "input.image": fox, "input.images": []any{hen, "https://example.com/x.png", fox}})
	r := hostedUse(config, map[string]any{"input.layers": []any{map[string]any{"mask": hen}}}).executeIn(t, w, hostedDeps(h))
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	at := func(n string) string { return "https://api.replicate.com/v1/files/" + n }
	same(t, "uploads", h.uploads, []any{"fox.png (image/png, 3): FOX", "hen.png (image/png, 3): HEN"})
	same(t, "input", h.asked[0].Input, map[string]any{"prompt": "x", "image": at("1"), "images": []any{at("2"), "https://example.com/x.png", at("1")},
		"layers": []any{map[string]any{"mask": at("2")}}})
}

func TestHostedModel_redacts_secrets(t *testing.T) {
	t.Parallel()
	h := newMemoryHost(play{end: hosted.Prediction{Output: "you gave secret-of-default-mine and secret-of-default-own"}})
	config := painting(t, strings.Replace(painter, `{"type": "array", "items": {"type": "string", "format": "uri"}}}`, `{"type": "string"}}`, 1),
		map[string]any{"input.prompt": "x", "input.api_key": map[string]any{"credential": "mine"}, "credential": map[string]any{"credential": "own"}})
	out := hostedUse(config, nil).succeeds(t, hostedDeps(h))
	if got := h.asked[0].Input["api_key"]; got != "secret-of-default-mine" || h.secrets[0] != "secret-of-default-own" {
		t.Errorf("sent %v with %v", got, h.secrets)
	}
	same(t, "output", out["output"], "you gave "+flow.Redacted+" and "+flow.Redacted)
}

func TestHostedModel_rejects_invalid_input(t *testing.T) {
	t.Parallel()
	keptConfig := func(config map[string]any) func(*testing.T) map[string]any {
		return func(t *testing.T) map[string]any { return painting(t, painter, config) }
	}
	free := func(config map[string]any) func(*testing.T) map[string]any {
		return func(*testing.T) map[string]any { return config }
	}
	tests := []struct {
		name   string
		config func(*testing.T) map[string]any
		ports  map[string]any
		code   flow.Code
		says   []string
	}{
		{"a value out of bounds", keptConfig(map[string]any{"input.prompt": "x"}), map[string]any{"input.width": "9"}, flow.CodeInputInvalid, []string{"input.width: This must be at least 64."}},
		{"a value of the wrong kind", keptConfig(map[string]any{"input.prompt": "x"}), map[string]any{"input.scheduler": "FAST"}, flow.CodeInputInvalid, []string{"input.scheduler: This must be one of DDIM, K_EULER."}},
		{"a missing input", free(map[string]any{"model": "acme/painter"}), nil, flow.CodeInputInvalid, []string{"input.prompt: This input must be set.", "replicate/acme/painter"}},
		{"an unknown input", free(map[string]any{"model": "acme/painter", "input.prompt": "x", "input.widht": "7"}), nil, flow.CodeInputInvalid, []string{"Did you mean width?"}},
		{"an object for a file", keptConfig(map[string]any{"input.prompt": "x"}), map[string]any{"input.image": map[string]any{"file": "report.pdf"}}, flow.CodeInputInvalid, []string{"input.image: This must be a file or its URL."}},
		{"a file that is gone", keptConfig(map[string]any{"input.prompt": "x", "input.image": map[string]any{"file": "file_" + strings.Repeat("0", 26)}}), nil, flow.CodeInputInvalid, []string{"does not exist"}},
		{"an unknown model", free(map[string]any{"model": "acme/nobody"}), nil, flow.CodeModelNotFound, []string{"acme/nobody"}},
		{"a model that cannot be used", free(map[string]any{"model": "acme/trainer"}), nil, flow.CodeModelIncompatible, []string{"only be trained", "acme/trainer"}},
		{"a credential that is gone", free(map[string]any{"model": "acme/painter", "input.prompt": "x", "credential": map[string]any{"credential": "missing"}}), nil, flow.CodeProviderAuth, []string{"missing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newMemoryHost(play{})
			h.add("acme/trainer", `{"TrainingInput": {"type": "object"}}`)
			e := hostedUse(tt.config(t), tt.ports).fails(t, hostedDeps(h), tt.code)
			has(t, e.Message, tt.says...)
			if h.begun() != 0 {
				t.Error("something was begun")
			}
		})
	}
}

func TestHostedModel_requires_credential(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.environment = nil
	r := hostedUse(map[string]any{"model": "acme/painter", "input.prompt": "x"}, nil).executeIn(t, w, hostedDeps(newMemoryHost(play{})))
	if r.Error == nil || r.Error.Code != flow.CodeProviderAuth {
		t.Fatal(r.Error)
	}
	has(t, r.Error.Message, "sluice credential add --name replicate --provider replicate", "REPLICATE_API_TOKEN")
	w.environment = map[string]flow.Access{"replicate": {Provider: "replicate", Name: "elsewhere", Secret: "secret", Hosts: []string{"example.com"}}}
	r = hostedUse(map[string]any{"model": "acme/painter", "input.prompt": "x"}, nil).executeIn(t, w, hostedDeps(newMemoryHost(play{})))
	if r.Error == nil || r.Error.Code != flow.CodeProviderAuth {
		t.Fatal(r.Error)
	}
	has(t, r.Error.Message, `"elsewhere" may not be sent to api.replicate.com`)
	for host, may := range map[string]bool{"models.example.com": true, "api.replicate.com": false} { // it goes where the host is
		h := newMemoryHost(play{end: hosted.Prediction{Output: []any{}}})
		h.address = "https://models.example.com/v1"
		w.environment = map[string]flow.Access{"replicate": {Provider: "replicate", Name: "bound", Secret: "secret", Hosts: []string{host}}}
		r := hostedUse(map[string]any{"model": "acme/painter", "input.prompt": "x"}, nil).executeIn(t, w, hostedDeps(h))
		if (r.Error == nil) != may || len(h.secrets) > 0 != may {
			t.Errorf("bound to %s: %v", host, r.Error)
		}
	}
	hostedUse(map[string]any{"model": "acme/painter", "input.prompt": "x"}, nil).fails(t, Deps{}, flow.CodeInternal)
}

func TestHostedModel_converts_output(t *testing.T) {
	t.Parallel()
	const at = "https://replicate.delivery/x/"
	file := func(name string) any { return map[string]any{"copy of": name} }
	tests := []struct {
		name, schemas string
		output        string
		want          map[string]any
	}{
		{"pieces of text are joined", writer, `["Good ", "day", "."]`, map[string]any{"output": "Good day."}},
		{"files are copied", painter, `["https://elsewhere.example/a.png", "` + at + `b.png"]`, map[string]any{"output": []any{file("a.png"), file("b.png")}}},
		{"data URLs are copied", painter, `["data:image/png;base64,QUJD"]`, map[string]any{"output": []any{file("png;base64,QUJD")}}},
		{"one file where a list is declared", painter, `"` + at + `b.png"`, map[string]any{"output": file("b.png")}},
		{"an object gives its properties", teller, `{"mask": "` + at + `b.png", "score": 0.5, "more": {"deep": ["` + at + `b.png", "https://en.wikipedia.org/"]}, "error": "none", "note": null}`,
			map[string]any{"mask": file("b.png"), "score": flow.Number(0.5), "more": map[string]any{"deep": []any{file("b.png"), "https://en.wikipedia.org/"}},
				"output": map[string]any{"mask": file("b.png"), "score": flow.Number(0.5), "more": map[string]any{"deep": []any{file("b.png"), "https://en.wikipedia.org/"}}, "error": "none", "note": nil}}},
		{"a text that is a file of the platform", `{"Input": {"type": "object", "properties": {}}, "Output": {"type": "string"}}`, `"` + at + `b.png"`, map[string]any{"output": file("b.png")}},
		{"a text that only looks like one", `{"Input": {"type": "object", "properties": {}}, "Output": {"type": "string"}}`, `"https://notreplicate.delivery/b.png"`,
			map[string]any{"output": "https://notreplicate.delivery/b.png"}},
		{"anything, without a schema", `{"Input": {"type": "object", "properties": {}}}`, `{"a": ["` + at + `b.png", 1]}`, map[string]any{"output": map[string]any{"a": []any{file("b.png"), flow.Number(1)}}}},
		{"nothing", writer, `null`, map[string]any{"output": nil}},
		{"a way that breaks off once", painter, `["` + at + `again"]`, map[string]any{"output": []any{file("again")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ func() time.Duration) {
				h := newMemoryHost(play{end: hosted.Prediction{Output: mustDecode(t, tt.output)}})
				h.files = map[string]string{"https://elsewhere.example/a.png": "A", at + "b.png": "B", "data:image/png;base64,QUJD": "ABC", at + "again": "breaks once"}
				config := painting(t, tt.schemas, map[string]any{})
				if tt.schemas == painter {
					config["input.prompt"] = "x"
				}
				r := newRunFixture(t, h, config, nil)
				step := r.finish()
				if step.State != flow.StepSucceeded {
					t.Fatal(step.Error)
				}
				same(t, "outputs", copies(step.Outputs), tt.want)
				if h.fetches[at+"b.png"] > 1 {
					t.Error("the same file was copied twice")
				}
			})
		})
	}
}

// copies replaces file values by the names of the copied files.
func copies(v any) any {
	return flow.MapFiles(v, func(_ string, f map[string]any) map[string]any { return map[string]any{"copy of": f["name"]} })
}

func TestHostedModel_rejects_invalid_output(t *testing.T) {
	t.Parallel()
	const at = "https://replicate.delivery/x/"
	tests := []struct {
		name string
		end  hosted.Prediction
		code flow.Code
		says string
	}{
		{"purged", hosted.Prediction{Purged: true}, flow.CodeOutputInvalid, "deletes outputs after an hour"},
		{"gone", hosted.Prediction{Output: []any{at + "nowhere.png"}}, flow.CodeOutputInvalid, "gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ func() time.Duration) {
				h := newMemoryHost(play{end: tt.end})
				step := newRunFixture(t, h, painting(t, painter, map[string]any{"input.prompt": "x"}), nil).finish()
				if step.Error == nil || step.Error.Code != tt.code || step.Error.Retryable {
					t.Fatalf("%+v", step.Error)
				}
				has(t, step.Error.Message, tt.says, "replicate/acme/painter")
			})
		})
	}
}

// TestHostedModel_bounds_output checks that a step stores at most twice the size limit of a
// file in total.
func TestHostedModel_bounds_output(t *testing.T) {
	t.Parallel()
	const at = "https://replicate.delivery/x/"
	outputs := func(names ...string) (list []any) {
		for _, name := range names {
			list = append(list, at+name)
		}
		return list
	}
	for _, tt := range []struct {
		output []any
		says   string
	}{
		{outputs("8", "8", "6", "6b"), ""}, // 20 bytes, one of them twice
		{outputs("8", "6", "7"), "20 bytes in total"},
		{outputs("8", "6", "6b", "8", "1"), "20 bytes in total"},
	} {
		h := newMemoryHost(play{end: hosted.Prediction{Output: tt.output}})
		h.files = map[string]string{at + "8": "12345678", at + "6": "123456", at + "6b": "abcdef", at + "7": "1234567", at + "1": "1"}
		d := hostedDeps(h)
		d.MaxFile = 10
		u := hostedUse(painting(t, painter, map[string]any{"input.prompt": "x"}), nil)
		if tt.says == "" {
			if r := u.executeIn(t, newFixture(), d); r.Error != nil {
				t.Error(r.Error)
			}
			continue
		}
		e := u.fails(t, d, flow.CodeOutputInvalid)
		if has(t, e.Message, tt.says, "SLUICE_MAX_FILE"); e.Retryable {
			t.Error("it would be as large again")
		}
	}
}

func TestHostedModel_reports_usage(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.prices = priceList{"replicate/acme/painter": {Second: 1000, Call: 5, Input: 2_000_000}}
	for _, state := range []hosted.State{hosted.StateSucceeded, hosted.StateFailed} {
		h := newMemoryHost(play{end: hosted.Prediction{State: state, Seconds: 2.5, InputTokens: 3, OutputTokens: 4, Output: []any{}}})
		r := hostedUse(painting(t, painter, map[string]any{"input.prompt": "x"}), nil).executeIn(t, w, hostedDeps(h))
		if want := (flow.Usage{InputTokens: 3, OutputTokens: 4, CostNanoUSD: 2511}); r.Usage != want {
			t.Errorf("%s: usage %+v, want %+v", state, r.Usage, want)
		}
	}
}

func TestHostedModel_reports_failures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		end   hosted.Prediction
		code  flow.Code
		retry bool
		says  string
	}{
		{"the model fails", hosted.Prediction{State: hosted.StateFailed, Error: "CUDA out of memory"}, flow.CodeProviderRejected, false, "The model failed: CUDA out of memory. Model: replicate/acme/painter. Prediction: p1."},
		{"it can be looked at", hosted.Prediction{State: hosted.StateFailed, Error: "No", WebURL: "https://replicate.com/p/abc"}, flow.CodeProviderRejected, false, "The model failed: No. Model: replicate/acme/painter. Prediction: https://replicate.com/p/abc."},
		{"the model only logs", hosted.Prediction{State: hosted.StateFailed, LastLog: "Killed"}, flow.CodeProviderRejected, false, "gave no reason. Its log ends with: Killed. Model: "},
		{"the model says nothing", hosted.Prediction{State: hosted.StateFailed}, flow.CodeProviderRejected, false, "gave no reason"},
		{"the platform interrupts", hosted.Prediction{State: hosted.StateFailed, Error: "Prediction interrupted; please retry (code: PA)"}, flow.CodeProviderRejected, true, "interrupted"},
		{"somebody cancels it there", hosted.Prediction{State: hosted.StateCanceled}, flow.CodeProviderUnavailable, true, "canceled on the platform"},
		{"it is aborted", hosted.Prediction{State: hosted.StateAborted}, flow.CodeProviderUnavailable, true, "before the model began"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ func() time.Duration) {
				h := newMemoryHost(play{takes: 3 * time.Second, end: tt.end})
				r := newRunFixture(t, h, painting(t, painter, map[string]any{"input.prompt": "x"}), func(d *flow.Document) {
					d.Nodes[0].Retry = &flow.Retry{Attempts: 2, BackoffS: 1}
				})
				step := r.finish()
				if e := step.Error; e == nil || e.Code != tt.code || e.Retryable != tt.retry {
					t.Fatalf("%+v", e)
				}
				has(t, step.Error.Message, strings.ReplaceAll(tt.says, "p1", h.predictions[len(h.predictions)-1].id))
				if want := map[bool]int{false: 1, true: 2}[tt.retry]; h.begun() != want {
					t.Errorf("%d begun, want %d", h.begun(), want)
				}
				if len(r.reports) > 0 {
					t.Error(r.reports)
				}
			})
		})
	}
}

func TestHostedModel_reports_start_failures(t *testing.T) {
	t.Parallel()
	for kind, code := range failures {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			h := &refusingHost{memoryHost: newMemoryHost(play{}), err: &providers.Error{Class: kind, Message: "No.", Retryable: true, RequestID: "r7"}}
			e := hostedUse(painting(t, painter, map[string]any{"input.prompt": "x"}), nil).fails(t, Deps{Host: h, Models: h}, code)
			if has(t, e.Message, "No.", "r7"); !e.Retryable {
				t.Error("cannot be tried again")
			}
		})
	}
}

// refusingHost rejects every start.
type refusingHost struct {
	*memoryHost
	err error
}

func (h *refusingHost) Start(context.Context, string, hosted.StartRequest) (*hosted.Prediction, error) {
	return nil, h.err
}
