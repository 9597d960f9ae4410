package nodes

import (
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
)

func TestInput(t *testing.T) {
	t.Parallel()
	t.Run("outputs the value from the request", func(t *testing.T) {
		t.Parallel()
		for _, value := range []any{number("3.50"), []any{"a", nil}, map[string]any{"a": false}} {
			got := use{kind: "input", config: map[string]any{"name": "v", "type": "json"}, ports: map[string]any{"value": value}}.succeeds(t, Deps{})
			same(t, "value", got["value"], value)
		}
	})
	t.Run("outputs the default if the value is missing", func(t *testing.T) {
		t.Parallel()
		got := use{kind: "input", config: map[string]any{"name": "v", "default": ""}, ports: map[string]any{"value": nil}}.succeeds(t, Deps{})
		same(t, "value", got["value"], "")
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for pointer, config := range map[string]map[string]any{
			"/nodes/0/config/name":    {"name": "1st"},
			"/nodes/0/config/type":    {"name": "v", "type": "date"},
			"/nodes/0/config/default": {"name": "v", "type": "number", "default": "3"},
			"/nodes/0/config/pattern": {"name": "v", "pattern": "("},
			"/nodes/0/config/min":     {"name": "v", "min": number("3"), "max": number("2")},
			"/nodes/0/config/max":     {"name": "v", "max": "2"},
			"/nodes/0/config/enum":    {"name": "v", "enum": "a, b"},
			"/nodes/0/config/accept":  {"name": "v", "accept": []any{".pdf"}},
			"/nodes/0/config/roles/0": {"name": "v", "type": "messages", "roles": []any{"tool"}},
			"/nodes/0/config/roles":   {"name": "v", "roles": []any{"user"}},
		} {
			problems := use{kind: "input", config: config}.problems(t)
			if len(problems) == 0 || problems[0].Pointer != pointer {
				t.Errorf("%v: got %v, want one at %s", config, problems, pointer)
			}
		}
	})
	t.Run("accepts files of given types", func(t *testing.T) {
		t.Parallel()
		file := map[string]any{"file": "file_01m7z26njgm1r68xj6qyhfyvty"}
		config := map[string]any{"name": "v", "type": "file", "accept": []any{"image/*", ".pdf"}}
		got := use{kind: "input", config: config, ports: map[string]any{"value": file}}.succeeds(t, Deps{})
		same(t, "value", got["value"], file)
	})
	t.Run("fetches the images of a conversation", func(t *testing.T) {
		t.Parallel()
		file := map[string]any{"file": "file_01m7z26njgm1r68xj6qyhfyvty"}
		content := func(pictures ...any) any {
			parts := []any{map[string]any{"type": "text", "text": "https://example.com/"}}
			for _, p := range pictures {
				parts = append(parts, map[string]any{"type": "image_url", "image_url": p})
			}
			return []any{map[string]any{"role": "user", "content": "https://example.com/"}, map[string]any{"role": "user", "content": parts}}
		}
		input := contract.ReadInput(&flow.Node{Config: map[string]any{"name": "v", "type": "messages"}})
		given := content(file, map[string]any{"url": "https://example.com/a.png?secret", "detail": "low"})
		remote := input.RemoteFiles(given)
		if len(remote) != 1 || remote[1].URL != "https://example.com/a.png?secret" {
			t.Errorf("remote %v", remote)
		}
		same(t, "shown", input.ShownFiles(given), content(file, "https://example.com/a.png?…"))
		fetched := map[string]any{"file": "file_01m7z26njgm1r68xj6qyhfyvtz"}
		same(t, "fetched", input.MapFiles(given, func(i int, v any) any {
			if i == 1 {
				return fetched
			}
			return v
		}), content(file, fetched))
	})
	t.Run("offers all types", func(t *testing.T) {
		t.Parallel()
		f := New(Deps{}).Find("input").Field("type")
		if len(f.Options) != len(contract.InputTypes) || f.Options[0] != "text" {
			t.Errorf("got %v", f.Options)
		}
	})
}
