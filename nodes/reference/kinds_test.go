package reference

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/nodes"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	list := Describe(nodes.New(nodes.Deps{}))
	find := func(name string) KindDescription {
		i := slices.IndexFunc(list, func(k KindDescription) bool { return k.Kind == name })
		if i < 0 {
			t.Fatalf("no %s", name)
		}
		return list[i]
	}
	t.Run("is in the palette's order", func(t *testing.T) {
		t.Parallel()
		if list[0].Kind != "input" || list[len(list)-1].Kind != "note" {
			t.Errorf("from %s to %s", list[0].Kind, list[len(list)-1].Kind)
		}
	})
	t.Run("tells effects", func(t *testing.T) {
		t.Parallel()
		if !find("http_request").Outside || find("webhook").Outside || find("classify").Outside || find("text").Class != "inline" {
			t.Error("outside effects are wrong")
		}
	})
	t.Run("lists the ports of fields with the others", func(t *testing.T) {
		t.Parallel()
		var names []string
		for _, p := range find("http_request").Inputs {
			names = append(names, p.Name)
		}
		if want := []string{"method", "url", "query", "headers", "body"}; !slices.Equal(names, want) {
			t.Errorf("got %v, want %v", names, want)
		}
	})
	t.Run("is JSON without null lists", func(t *testing.T) {
		t.Parallel()
		data, err := json.Marshal(find("note"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"inputs":[]`, `"outputs":[]`, `"kind":"note"`, `"role":"canvas"`} {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s does not contain %s", data, part)
			}
		}
		data, err = json.Marshal(find("summarize").Fields[1])
		if err != nil {
			t.Fatal(err)
		}
		want := `{"name":"sentences","title":"Sentences","help":"Sentences to pick.","type":"integer",` +
			`"default":3,"min":1,"max":200,"required":false,"typed":false,"port":"number","template":false,"more":false}`
		if string(data) != want {
			t.Errorf("got %s, want %s", data, want)
		}
	})
	t.Run("says what models and files are for", func(t *testing.T) {
		t.Parallel()
		data, err := json.Marshal(find("transcribe"))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"type":"model","task":"transcribe"`, `"type":"file","accept":["audio/*","video/*"]`} {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s does not contain %s", data, part)
			}
		}
	})
	t.Run("names what it cannot number", func(t *testing.T) {
		t.Parallel()
		for _, k := range list {
			if k.Role == "" || k.Class == "" || k.Timeout < flow.StepTimeout.Seconds() {
				t.Errorf("%s: role %q, class %q, timeout %v", k.Kind, k.Role, k.Class, k.Timeout)
			}
		}
	})
}
