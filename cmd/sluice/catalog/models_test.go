package catalog

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/outbound"
	"sluice/providers/hosted"
	"sluice/views/components"
)

// noSecrets is a store without credentials and prices.
type noSecrets struct{}

func (noSecrets) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return nil, nil
}
func (noSecrets) ListPrices(context.Context, flow.WorkspaceID) ([]flow.Price, error) { return nil, nil }
func (noSecrets) OpenCredential(context.Context, flow.WorkspaceID, string) (flow.Credential, string, error) {
	return flow.Credential{}, "", flow.Errorf(flow.CodeNotFound, "none")
}

// newModels returns the models of a workspace without credentials.
func newModels(t *testing.T) *Models {
	t.Helper()
	client, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	up, err := upstream.New(t.Context(), upstream.Config{HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return NewModels(up, upstream.FindLocal(up, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, true), noSecrets{}, hosted.NewDirectory(up.Host))
}

func TestModels_without_credentials(t *testing.T) {
	t.Parallel()
	m := newModels(t)
	shown := func(query string) (ids []string) {
		for _, g := range m.ListModels(t.Context(), "ws_other", "hosted", query) {
			for _, c := range g.Models {
				ids = append(ids, c.ID)
			}
		}
		return ids
	}
	all, found := shown(""), shown("flux schnell")
	if len(all) < 20 || len(found) == 0 || len(found) >= len(all) || !slices.Contains(found, "black-forest-labs/flux-schnell") {
		t.Errorf("of %d featured models, the words find %v", len(all), found)
	}
	t.Run("offers providers with their known models", func(t *testing.T) {
		t.Parallel()
		groups := m.ListModels(t.Context(), "ws_other", "chat", "")
		isOwn := func(g components.ModelGroup) bool { return g.Place == components.PlaceOwn }
		var own []string
		for _, g := range groups {
			if isOwn(g) {
				own = append(own, g.Title)
			}
		}
		if want := []string{"OpenAI-compatible server", "Ollama", "Azure", "Replicate"}; !slices.Equal(own, want) {
			t.Errorf("servers of one's own: %q, want %q", own, want)
		}
		groups = slices.DeleteFunc(groups, isOwn)
		if len(groups) < 10 || slices.ContainsFunc(groups, func(g components.ModelGroup) bool { return g.Place != components.PlaceOffered || g.KeysURL == "" }) {
			t.Errorf("offered %+v", groups)
		}
		found := slices.DeleteFunc(m.ListModels(t.Context(), "ws_other", "chat", "anthropic/claude-haiku-4-5"), isOwn)
		if len(found) != 1 || len(found[0].Models) != 1 {
			t.Fatalf("found %+v", found)
		}
		if c := found[0].Models[0]; c.Context != "200K" || c.Price != "$1.00 / $5.00" || !strings.Contains(c.PriceNote, "List price of 20") {
			t.Errorf("described as %+v", c)
		}
		if speech := m.ListModels(t.Context(), "ws_other", "speech", ""); len(speech) == 0 || len(speech[0].Models) != 0 {
			t.Errorf("unlisted speech models: %+v", speech)
		}
	})
	t.Run("a featured model is pinned without a credential", func(t *testing.T) {
		t.Parallel()
		n := &flow.Node{ID: "draw", Kind: "hosted_model", Config: map[string]any{"model": "a/b", "input.prompt": "A fox"}}
		config, err := m.PinModel(t.Context(), "ws_other", n, "black-forest-labs/flux-schnell")
		if err != nil {
			t.Fatal(err)
		}
		if config["schema"] == nil || config["input.prompt"] != "A fox" || n.Config["schema"] != nil {
			t.Errorf("pinned %v; the node has %v", config, n.Config)
		}
		n.Config = config
		if up, err := m.UpgradeModel(t.Context(), "ws_other", n, nil); err != nil || !up.Newest {
			t.Errorf("the same again is %+v, %v", up, err)
		}
	})
	t.Run("other models name the required credential", func(t *testing.T) {
		t.Parallel()
		_, err := m.PinModel(t.Context(), "ws_other", &flow.Node{Config: map[string]any{}}, "nobody/knows")
		if e, ok := errors.AsType[*flow.Error](err); !ok || e.Code != flow.CodeProviderAuth || !strings.Contains(e.Message, "credential") {
			t.Errorf("said %v", err)
		}
		_, err = m.PinModel(t.Context(), "ws_other", &flow.Node{Config: map[string]any{}}, "no model")
		if !errors.Is(err, &flow.Error{Code: flow.CodeModelIncompatible}) {
			t.Errorf("said %v", err)
		}
	})
}

func TestModels_NewCredential(t *testing.T) {
	t.Parallel()
	m := newModels(t)
	if !slices.ContainsFunc(m.Providers(), func(o components.Option) bool { return o.Value == "replicate" }) {
		t.Error("the hosting platform cannot be chosen")
	}
	for name, c := range map[string]struct{ name, provider, secret, hosts, field string }{
		"for a provider":    {"openai", "openai", "sk-1", "", ""},
		"plain":             {"hooks", "", "s", "api.example.com", ""},
		"plain, no hosts":   {"hooks", "", "s", "", "hosts"},
		"a bad host":        {"hooks", "", "s", "*.com", "hosts"},
		"no name":           {"", "openai", "sk-1", "", "name"},
		"a provider's name": {"openai", "", "sk-1", "a.example", "name"},
		"no secret":         {"mine", "openai", "", "", "secret"},
		"two lines":         {"mine", "openai", "a\nb", "", "secret"},
		"nobody":            {"mine", "nobody", "s", "", "provider"},
		"a local one":       {"mine", "ollama", "s", "", "provider"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := m.NewCredential("ws_1", c.name, c.provider, c.secret, strings.Fields(c.hosts), false)
			e, _ := errors.AsType[*flow.Error](err)
			switch {
			case c.field == "" && (err != nil || made.WorkspaceID != "ws_1" || c.provider == "openai" && !slices.Equal(made.Hosts, []string{"api.openai.com"})):
				t.Errorf("made %+v, %v", made, err)
			case c.field != "" && (e == nil || len(e.Fields) != 1 || e.Fields[0].Pointer != c.field):
				t.Errorf("said %v, wanted something about %s", err, c.field)
			}
		})
	}
}

func TestContextText(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[int64]string{0: "", 512: "512", 8192: "8K", 128_000: "128K", 131_072: "128K", 200_000: "200K", 1_000_000: "1M", 1_048_576: "1M", 1_050_000: "1.05M"} {
		if got := contextText(tokens); got != want {
			t.Errorf("%d tokens are %q, not %q", tokens, got, want)
		}
	}
}
