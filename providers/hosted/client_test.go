package hosted_test

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"sluice/e2e/npm"
	"sluice/providers/hosted/hostedtest"
)

// TestFake is honest if the platform's own client cannot tell it from the
// platform.
func TestFake(t *testing.T) {
	t.Parallel()
	modules := npm.Install(t, "testdata/npm")
	fake := hostedtest.New(t)
	fake.PageSize = 2
	fake.Second = 100 * time.Millisecond
	addModels(fake)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/client.mjs", modules, fake.URL, hostedtest.Secret)
	out, err := cmd.Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			t.Fatalf("node: %v\n%s", err, e.Stderr)
		}
		t.Fatal(err)
	}
	var saw map[string]any
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]any{
		"account":     "acme",
		"model":       map[string]any{"owner": "acme", "name": "echo", "version": hostedtest.Version("acme", "echo")},
		"required":    []any{"prompt"},
		"made":        map[string]any{"status": "succeeded", "output": map[string]any{"prompt": "hello"}},
		"run":         map[string]any{"prompt": "run"},
		"official":    "by name",
		"slow":        map[string]any{"first": "starting", "last": "at last"},
		"stream":      []any{[]any{"output", "Once"}, []any{"output", " upon\na time"}, []any{"done", "{}"}},
		"canceled":    "canceled",
		"after":       "canceled",
		"file":        map[string]any{"type": "text/plain", "size": 10.0, "same": true},
		"files":       1.0,
		"uploaded":    true,
		"deleted":     true,
		"collections": []any{"words"},
		"collection":  []any{"writer"},
		"search":      []any{"writer"},
		"pages":       []any{2.0, 1.0},
		"predictions": 7.0,
		"unknown":     404.0,
		"invalid":     422.0,
		"failed":      "Prediction failed: the model broke",
		"refused":     401.0,
	} {
		if !reflect.DeepEqual(saw[name], want) {
			t.Errorf("%s: the client saw %v, wanted %v", name, saw[name], want)
		}
	}
	if n := fake.Created(); n != 8 { // the failed one comes after the count
		t.Errorf("%d predictions were created, wanted 8", n)
	}
}

func addModels(fake *hostedtest.Fake) {
	schemas := map[string]any{
		"Input": map[string]any{"type": "object", "required": []any{"prompt"}, "properties": map[string]any{
			"prompt": map[string]any{"type": "string", "x-order": 0},
		}},
		"Output": map[string]any{"type": "string"},
	}
	never := make(chan struct{})
	fake.AddModel(hostedtest.Model{Owner: "acme", Name: "echo", Description: "Gives back what it is given", Schemas: schemas,
		Predict: func(input map[string]any) hostedtest.Script {
			switch input["prompt"] {
			case "slow":
				return hostedtest.Script{Polls: 3, Output: "at last"}
			case "held":
				return hostedtest.Script{Hold: never}
			}
			return hostedtest.Script{Output: input}
		}})
	fake.AddModel(hostedtest.Model{Owner: "acme", Name: "house", Official: true, Schemas: schemas,
		Predict: func(input map[string]any) hostedtest.Script {
			if input["prompt"] == "fail" {
				return hostedtest.Script{State: "failed", Error: "the model broke"}
			}
			return hostedtest.Script{Output: input["prompt"]}
		}})
	fake.AddModel(hostedtest.Model{Owner: "acme", Name: "writer", Official: true, Description: "It writes", Schemas: schemas,
		Predict: func(map[string]any) hostedtest.Script {
			return hostedtest.Script{Stream: []string{"Once", " upon\na time"}, Output: []any{"Once", " upon\na time"}}
		}})
	fake.AddCollection(hostedtest.Collection{Slug: "words", Name: "Words", Description: "They write", Models: []string{"acme/writer"}})
}
