package hosted_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	older := strings.Repeat("ab", 32)
	input := func(name string) map[string]any {
		return map[string]any{
			"Input": map[string]any{"type": "object", "properties": map[string]any{
				name: map[string]any{"allOf": []any{map[string]any{"$ref": "#/components/schemas/size"}}},
			}},
			"Output":          map[string]any{"type": "string", "format": "uri"},
			"size":            map[string]any{"type": "string", "enum": []any{"s", "m"}},
			"ValidationError": map[string]any{"type": "object"},
		}
	}
	fake, client, _ := setup(t)
	fake.AddModel(hostedtest.Model{Owner: "acme", Name: "draw", Description: "Draws. Well. And more of it.", Runs: 12, Official: true,
		Schemas: input("size"), Older: map[string]any{older: input("format")}, Example: []any{"https://replicate.delivery/x/out.WEBP"}})
	fake.AddModel(hostedtest.Model{Owner: "acme", Name: "empty"})

	t.Run("gives the newest version", func(t *testing.T) {
		m, err := client.Describe(t.Context(), hostedtest.Secret, hosted.Ref{Owner: "acme", Name: "draw"})
		if err != nil {
			t.Fatal(err)
		}
		if m.Version != hostedtest.Version("acme", "draw") || !m.Official || m.Runs != 12 || m.Title != "Draw" || m.Description != "Draws. Well." {
			t.Errorf("got %+v", m)
		}
		if _, kept := m.All["ValidationError"]; kept || len(m.All) != 3 {
			t.Errorf("kept %d schemas", len(m.All))
		}
		if f := hosted.NewForm(m); f.Fields[0].Widget != hosted.WidgetSelect || f.Output.Type != hosted.OutputFile {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("gives the version that is asked for", func(t *testing.T) {
		m, err := client.Describe(t.Context(), hostedtest.Secret, hosted.Ref{Owner: "acme", Name: "draw", Version: older})
		if err != nil || m.Version != older || hosted.NewForm(m).Fields[0].Name != "format" {
			t.Errorf("got %+v, %v", m, err)
		}
	})
	t.Run("says what it does not know", func(t *testing.T) {
		_, err := client.Describe(t.Context(), hostedtest.Secret, hosted.Ref{Owner: "acme", Name: "nothing"})
		if e := wantError(t, err, providers.ClassNotFound); !strings.Contains(e.Message, "the model acme/nothing") {
			t.Error(e.Message)
		}
		_, err = client.Describe(t.Context(), hostedtest.Secret, hosted.Ref{Owner: "acme", Name: "draw", Version: strings.Repeat("0", 64)})
		if e := wantError(t, err, providers.ClassNotFound); !strings.Contains(e.Message, "this version of the model acme/draw") {
			t.Error(e.Message)
		}
	})
	t.Run("lists what it finds", func(t *testing.T) {
		found, err := client.Search(t.Context(), hostedtest.Secret, "draws")
		want := []hosted.Listing{{Owner: "acme", Name: "draw", Title: "Draw", Description: "Draws. Well.", Output: "image", Official: true, Runs: 12}}
		if err != nil || !reflect.DeepEqual(found, want) {
			t.Errorf("got %+v, %v", found, err)
		}
	})
}

func TestDescribeWithoutVersion(t *testing.T) {
	t.Parallel()
	fake, client, _ := setup(t)
	fake.Fail(respond(200, nil, `{"owner":"acme","name":"own","is_official":true,"latest_version":{"id":"hidden"}}`))
	if m, err := client.Describe(t.Context(), hostedtest.Secret, hosted.Ref{Owner: "acme", Name: "own"}); err != nil || m.String() != "acme/own" || !m.Official {
		t.Errorf("%+v, %v", m, err)
	}
	fake.Fail(respond(200, nil, `{"owner":"acme","name":"new","latest_version":null}`))
	_, err := client.Describe(t.Context(), hostedtest.Secret, hosted.Ref{Owner: "acme", Name: "new"})
	wantError(t, err, providers.ClassIncompatible)
}

func TestCollections(t *testing.T) {
	t.Parallel()
	t.Run("follows the pages", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.PageSize = 2
		for i := range 4 {
			fake.AddCollection(hostedtest.Collection{Slug: fmt.Sprint("c", i), Name: fmt.Sprint("C", i)})
		}
		list, err := client.Collections(t.Context(), hostedtest.Secret)
		if err != nil || len(list) != 5 || list[4].Slug != "c3" {
			t.Errorf("got %+v, %v", list, err)
		}
	})
	t.Run("follows no page to another host", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		other := fake.Deliver("next", "application/json", []byte(`{"results":[{"slug":"evil"}]}`))
		fake.Fail(respond(200, nil, `{"next":"`+other+`","results":[{"slug":"good"}]}`))
		list, err := client.Collections(t.Context(), hostedtest.Secret)
		if err != nil || len(list) != 1 || fake.Leaks() != 0 {
			t.Errorf("got %+v, %v, %d leaks", list, err, fake.Leaks())
		}
	})
	t.Run("gives the models of one", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		c, err := client.Collection(t.Context(), hostedtest.Secret, "words")
		if err != nil || len(c.Models) != 1 || c.Models[0].Category != "words" || c.Models[0].Output != "text" {
			t.Errorf("got %+v, %v", c, err)
		}
	})
}

func TestParseRef(t *testing.T) {
	t.Parallel()
	version := strings.Repeat("0a", 32)
	for text, want := range map[string]hosted.Ref{
		"acme/draw":                                              {Owner: "acme", Name: "draw"},
		"  acme/draw-2.1_x ":                                     {Owner: "acme", Name: "draw-2.1_x"},
		"acme/draw:" + strings.ToUpper(version):                  {Owner: "acme", Name: "draw", Version: version},
		"https://replicate.com/acme/draw":                        {Owner: "acme", Name: "draw"},
		"replicate.com/acme/draw/":                               {Owner: "acme", Name: "draw"},
		"https://www.replicate.com/acme/draw/api?tab=go#x":       {Owner: "acme", Name: "draw"},
		"https://replicate.com/acme/draw/versions/" + version:    {Owner: "acme", Name: "draw", Version: version},
		"https://replicate.com/acme/draw:" + version + "/readme": {Owner: "acme", Name: "draw", Version: version},
	} {
		got, err := hosted.ParseRef(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := hosted.ParseRef(got.String()); err != nil || again != got {
			t.Errorf("%q does not come back: %+v, %v", got, again, err)
		}
	}
	for _, text := range slices.Concat([]string{
		"", "draw", "acme/", "/draw", "acme/draw/more", "acme/draw:", "acme/draw:latest", "acme/../draw", "a b/c", "acme/draw:" + version + "0",
		"https://example.com/acme/draw", "https://replicate.com/acme", "https://replicate.com.evil.example/a/b", "../x", strings.Repeat("a", 999),
	}) {
		_, err := hosted.ParseRef(text)
		if e := wantError(t, err, providers.ClassBadRequest); !strings.Contains(e.Message, "owner/name") {
			t.Errorf("%q: %s", text, e.Message)
		}
	}
}
