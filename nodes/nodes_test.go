package nodes

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
	"sluice/mcpclient"
	"sluice/nodes/servertools"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/builtin"
)

var (
	_ HTTPClient   = (*outbound.Client)(nil)
	_ Model        = (*builtin.Model)(nil)
	_ Providers    = (*providers.Client)(nil)
	_ LocalServers = (*providers.Finder)(nil)
)

// TestKinds checks the properties of every kind that the rest of Sluice relies on.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, k := range New(fakes()).List() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			t.Run("is documented", func(t *testing.T) { checkDocs(t, k) })
			t.Run("has unique names", func(t *testing.T) { checkNames(t, k) })
			t.Run("has valid defaults", func(t *testing.T) { checkDefaults(t, k) })
			t.Run("rejects unknown config", func(t *testing.T) { checkUnknown(t, k) })
			t.Run("keeps its config through JSON", func(t *testing.T) { checkRoundTrip(t, k) })
			if k.Role == flow.RoleCanvas {
				return
			}
			t.Run("runs its example", func(t *testing.T) { checkExample(t, k) })
			t.Run("stops when canceled", func(t *testing.T) { checkCancellation(t, k) })
		})
	}
}

func exampleOf(k *flow.Kind) use {
	return use{kind: k.Name, config: maps.Clone(k.Example.Config), ports: k.Example.Ports}
}

var sentence = regexp.MustCompile(`(?s)^["A-Z0-9].*[.?]$`)

func checkDocs(t *testing.T, k *flow.Kind) {
	texts := map[string]string{"summary": k.Summary, "doc": k.Doc}
	for _, f := range k.Fields {
		texts["field "+f.Name] = f.Help
		if f.Title == "" {
			t.Errorf("field %s has no title", f.Name)
		}
	}
	for _, p := range slices.Concat(k.Inputs, k.Outputs) {
		texts["port "+p.Name] = p.Help
		if p.Title == "" || p.Type == "" {
			t.Errorf("port %s lacks a title or a type", p.Name)
		}
	}
	for what, text := range texts {
		if !sentence.MatchString(text) {
			t.Errorf("%s is not documented in sentences: %q", what, text)
		}
	}
	if k.Icon == "" || !slices.Contains(Groups, k.Group) {
		t.Errorf("icon %q, group %q", k.Icon, k.Group)
	}
	if len(k.Outputs) == 0 && k.DynamicSchema == nil && k.Role != flow.RoleCanvas {
		t.Error("no output port")
	}
}

func checkNames(t *testing.T, k *flow.Kind) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	in, out := map[string]bool{}, map[string]bool{flow.ErrorPort: true}
	once := func(seen map[string]bool, s string) {
		if seen[s] || !name.MatchString(s) {
			t.Errorf("the name %q is used twice, reserved or malformed", s)
		}
		seen[s] = true
	}
	for _, f := range k.Fields {
		once(in, f.Name)
		if f.Type == flow.FieldSelect && len(f.Options) == 0 {
			t.Errorf("%s has nothing to select", f.Name)
		}
	}
	for _, p := range k.Inputs {
		once(in, p.Name)
	}
	for _, p := range k.Outputs {
		once(out, p.Name)
	}
	if k.OutputsField != "" && k.Field(k.OutputsField) == nil {
		t.Errorf("collects by an unknown field %q", k.OutputsField)
	}
}

func checkDefaults(t *testing.T, k *flow.Kind) {
	u := exampleOf(k)
	if u.config == nil {
		u.config = map[string]any{}
	}
	for _, f := range k.Fields {
		if _, typed := u.config[f.Name]; !typed && f.Default != nil {
			u.config[f.Name] = f.Default
		}
	}
	if problems := u.problems(t); len(problems) > 0 {
		t.Error(problems)
	}
}

func checkUnknown(t *testing.T, k *flow.Kind) {
	u := exampleOf(k)
	if problems := u.problems(t); len(problems) > 0 {
		t.Fatalf("the example itself: %v", problems)
	}
	u.config = map[string]any{"nonsense": true}
	maps.Copy(u.config, k.Example.Config)
	problems := u.problems(t)
	if len(problems) != 1 || problems[0].Code != "unknown_field" {
		t.Error(problems)
	}
}

func checkRoundTrip(t *testing.T, k *flow.Kind) {
	doc, _ := exampleOf(k).document(k)
	again, problems := document.ParseDocument(doc.Encode())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if string(again.Compact()) != string(doc.Compact()) {
		t.Errorf("got %s, want %s", again.Compact(), doc.Compact())
	}
}

func checkExample(t *testing.T, k *flow.Kind) {
	outputs := exampleOf(k).succeeds(t, fakes())
	k = New(Deps{}).For(&flow.Node{Kind: k.Name, Config: k.Example.Config}) // with the ports of its config
	for name := range outputs {
		if !slices.ContainsFunc(k.Outputs, func(p flow.Port) bool { return p.Name == name }) {
			t.Errorf("gives %q, which is not declared", name)
		}
	}
	for _, p := range k.Outputs {
		if v, given := outputs[p.Name]; given && !p.Type.Is(v) {
			t.Errorf("%s is declared as %s and gives %s", p.Name, p.Type, flow.TypeOf(v))
		}
	}
	if k.Example.Outputs != nil {
		same(t, "outputs", outputs, k.Example.Outputs)
	}
}

// stuck blocks in every method until the context ends.
type stuck struct{ started chan<- struct{} }

func (s stuck) wait(ctx context.Context) error {
	s.started <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (s stuck) Do(ctx context.Context, _ outbound.Request) (*outbound.Response, error) {
	return nil, s.wait(ctx)
}

func (s stuck) Embed(ctx context.Context, _ string, _ []string) ([][]float32, error) {
	return nil, s.wait(ctx)
}

func (s stuck) Similarity(ctx context.Context, _, _, _ string) (float64, error) {
	return 0, s.wait(ctx)
}

func (s stuck) Classify(ctx context.Context, _, _ string, _ []builtin.Label) ([]builtin.Score, error) {
	return nil, s.wait(ctx)
}

func (s stuck) Summarize(ctx context.Context, _, _ string, _ int) (string, error) {
	return "", s.wait(ctx)
}

func (s stuck) FindAnswer(ctx context.Context, _, _, _ string, _ int) (builtin.Answer, error) {
	return builtin.Answer{}, s.wait(ctx)
}

// stuckProviders is stuck for Providers, whose method Embed differs.
type stuckProviders struct{ stuck stuck }

func (s stuckProviders) Turn(ctx context.Context, _ providers.Endpoint, _ providers.TurnRequest, _ func(string)) (*providers.TurnResult, error) {
	return nil, s.stuck.wait(ctx)
}

func (s stuckProviders) Chat(ctx context.Context, _ providers.Endpoint, _ providers.ChatRequest, _ func(string)) (*providers.ChatResult, error) {
	return nil, s.stuck.wait(ctx)
}

func (s stuckProviders) Embed(ctx context.Context, _ providers.Endpoint, _ providers.EmbedRequest) (*providers.EmbedResult, error) {
	return nil, s.stuck.wait(ctx)
}

func (s stuckProviders) Image(ctx context.Context, _ providers.Endpoint, _ providers.ImageRequest) (*providers.ImageResult, error) {
	return nil, s.stuck.wait(ctx)
}

func (s stuckProviders) Speech(ctx context.Context, _ providers.Endpoint, _ providers.SpeechRequest) (*providers.Blob, error) {
	return nil, s.stuck.wait(ctx)
}

func (s stuckProviders) Transcribe(ctx context.Context, _ providers.Endpoint, _ providers.TranscribeRequest) (*providers.TranscribeResult, error) {
	return nil, s.stuck.wait(ctx)
}

func (s stuck) Stream(ctx context.Context, _ outbound.Request) (*outbound.Stream, error) {
	return nil, s.wait(ctx)
}

func (s stuck) DetectLanguage(ctx context.Context, _ string) ([]builtin.Language, error) {
	return nil, s.wait(ctx)
}

func (s stuck) Sentiment(ctx context.Context, _ string) (builtin.Sentiment, error) {
	return builtin.Sentiment{}, s.wait(ctx)
}

// stuckChildren are child runs that never start.
type stuckChildren struct{ stuck }

func (s stuckChildren) Start(ctx context.Context, _ flow.ChildRequest) (*flow.Children, error) {
	return nil, s.wait(ctx)
}
func (s stuckChildren) Read(ctx context.Context, _ func(*flow.ChildResult) error) error {
	return s.wait(ctx)
}
func (s stuckChildren) Stop(ctx context.Context) error { return s.wait(ctx) }

// stuckServers cannot be connected to.
type stuckServers struct{ stuck }

func (s stuckServers) Open(ctx context.Context, _ mcpclient.Server) (servertools.Session, error) {
	return nil, s.wait(ctx)
}

// checkCancellation cancels a step that waits for a dependency. A kind without dependencies
// must finish anyway.
func checkCancellation(t *testing.T, k *flow.Kind) {
	started, done := make(chan struct{}, 1), make(chan error, 1)
	k = New(Deps{HTTP: stuck{started}, Model: stuck{started}, Providers: stuckProviders{stuck{started}},
		Host: stuckHost{newMemoryHost(play{}), stuck{started}}, Models: newMemoryHost(play{}), ToolServers: stuckServers{stuck{started}}, Knowledge: stuckKnowledge{stuck: stuck{started}}}).Find(k.Name)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := &flow.In{Node: "n", Key: "run_1:n", Config: map[string]any{}, Ports: k.Example.Ports, Collected: value.FromMap(k.Example.Ports)}
	newFixture().bindCapabilities(in)
	in.AskApproval = func(ctx context.Context, _ flow.Question, _ time.Time) (string, error) {
		return "", stuck{started}.wait(ctx)
	}
	in.Children = stuckChildren{stuck{started}}
	in.Origin = func(ctx context.Context) (flow.Origin, error) { return flow.Origin{}, stuck{started}.wait(ctx) }
	for _, f := range k.Fields {
		if f.Default != nil {
			in.Config[f.Name] = f.Default
		}
	}
	maps.Copy(in.Config, k.Example.Config)
	maps.Copy(in.Config, k.Example.Ports)
	if k.Name == "http_request" {
		in.Config["url"] = "https://example.com/" // the engine fills templates in
	}
	if k.Expand != nil { // its sub-steps are tested as a part of it
		return
	}
	go func() {
		_, err := k.Run(ctx, in)
		done <- err
	}()
	select {
	case <-started:
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	case err := <-done:
		if err != nil {
			t.Errorf("did not wait for anything and failed: %v", err)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("declares without dependencies", func(t *testing.T) {
		t.Parallel()
		want := strings.Fields("agent approval chat classify code combine condition delay detect_language document embed expression extract file find_answer first_of hosted_model http_request image " +
			"input json knowledge_add knowledge_search map mcp note output replace sentiment similarity speech split subflow summarize switch template text transcribe web_page webhook")
		var got []string
		for _, k := range New(Deps{}).List() {
			got = append(got, k.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("fails without dependencies only when it runs", func(t *testing.T) {
		t.Parallel()
		for _, k := range New(fakes()).List() {
			if k.Class == flow.Compute && k.Group != groupText || k.Group == groupModels && k.Name != "hosted_model" || k.Name == "http_request" {
				exampleOf(k).fails(t, Deps{}, flow.CodeInternal)
			}
		}
	})
}
