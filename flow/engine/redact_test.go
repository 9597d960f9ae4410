package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/redaction"
	"sluice/flow/value"
)

// BenchmarkEmitter measures streaming an answer word by word.
func BenchmarkEmitter(b *testing.B) {
	v := &emitter{secrets: redaction.New("Bearer sk-proj-9f86d081884c7d659a2feaa0c55ad015"), emit: func(string) {}}
	for b.Loop() {
		v.write("word ")
	}
}

func TestRedactor_redacts_nested_values(t *testing.T) {
	t.Parallel()
	r := redaction.New("sk-secret")
	given := map[string]any{"a sk-secret": []any{"x sk-secret", flow.Number(1), nil, map[string]any{"b": "sk-secret"}}, "c": true}
	wantJSON(t, r.Value(given), `{"a [secret]":["x [secret]",1,null,{"b":"[secret]"}],"c":true}`)
	if !strings.Contains(string(flow.EncodeJSON(given)), "sk-secret") {
		t.Error("the value that was given has been changed")
	}
	if v := (&redaction.Redactor{}).Value(given); string(flow.EncodeJSON(v)) != string(flow.EncodeJSON(given)) {
		t.Error("without secrets a value stays as it is")
	}
}

// echoKind returns its secret, as a careless service does.
var echoKind = flow.Kind{
	Name: "echo", Title: "Echo", Group: "Test", Summary: "Sends a secret back.",
	Fields:  []flow.Field{{Name: "secret", Type: flow.FieldSecret}, {Name: "fail", Type: flow.FieldBoolean, Typed: true}},
	Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
		secret, err := in.Secret(ctx, in.Config["secret"], "")
		if err == nil && in.Config["fail"] == true {
			err = flow.Errorf(flow.CodeProviderAuth, "refused: %s", secret)
		}
		return flow.Out{Outputs: map[string]any{"text": "you sent " + secret}}, err
	},
}

func TestEngine_redacts_echoed_secrets(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			a echo {"secret": {"credential": "mine"}}
			b echo {"secret": {"credential": "mine"}, "fail": true} {"on_error": "route"}`, echoKind)
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantJSON(t, s.step("a").Outputs, `{"text":"you sent [secret]"}`)
		wantJSON(t, s.step("b").Outputs, `{"error":{"code":"provider_auth","message":"refused: [secret]","node":"b"}}`)
		if e := s.step("b").Error; e == nil || e.Message != "refused: [secret]" {
			t.Errorf("the error of b is %v", e)
		}
	})
}

// TestEmitter_redacts_split_secrets streams secrets that are split into several pieces.
func TestEmitter_redacts_split_secrets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"at once", []string{"key sk-abab!"}, []string{"key [secret]!"}},
		{"cut in two", []string{"key sk-", "abab!"}, []string{"key ", "[secret]!"}},
		{"letter by letter", []string{"s", "k", "-", "a", "b", "a", "b"}, []string{"[secret]"}},
		{"only the beginning of a secret", []string{"sk-ab", "!"}, []string{"sk-ab!"}},
		{"beginnings of secrets at the ends", []string{"a task", " sk-a"}, []string{"a ta", "sk ", "sk-a"}},
		{"no secret", []string{"one ", "two"}, []string{"one ", "two"}},
	}
	for _, tt := range tests {
		var emitted []string
		v := &emitter{secrets: redaction.New("sk-abab"), emit: func(text string) { emitted = append(emitted, text) }}
		for _, piece := range tt.pieces {
			v.write(piece)
		}
		if v.flush(); strings.Join(emitted, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%s: emitted %q, want %q", tt.name, emitted, tt.want)
		}
	}
}

// TestEngine_rejects_credential_from_edge checks that data cannot select a credential.
func TestEngine_rejects_credential_from_edge(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			x input {"name": "x"}
			a echo {} {"on_error": "route"}
			h hook {"url": "https://example.com"} {"on_error": "route"}
			o output {"name": "o"}
			x.value -> a.secret
			a.text -> o.value`, echoKind)
		s.disk = newDisk(flow.Run{ID: "run_1", State: flow.RunQueued, Inputs: value.FromMap(map[string]any{"x": map[string]any{"credential": "mine"}}), Timeout: flow.RunTimeout})
		s.finish()
		if e := s.step("a").Error; e == nil || e.Code != flow.CodeInputInvalid || !strings.Contains(e.Message, "came as data") {
			t.Errorf("the step says %+v, %v", e, s.step("a").Outputs)
		}
	})
}
