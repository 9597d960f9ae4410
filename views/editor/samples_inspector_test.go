package editor

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/nodes"
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
)

var paneKinds = sync.OnceValue(func() *flow.Registry { return nodes.New(nodes.Deps{}) })

func inspectorSamples(theme layout.Theme) map[string]templ.Component {
	all := map[string]templ.Component{}
	for _, k := range paneKinds().List() {
		all["inspector-"+k.Name] = inspectorAlone(theme, paneOfExample(k))
	}
	all["inspector-fields"] = inspectorAlone(theme, fieldsPane())
	all["inspector-fed"] = inspectorAlone(theme, fedPane())
	all["inspector-hosted-schema"] = inspectorAlone(theme, schemaPane())
	overview := &flow.Document{Name: "Route a support ticket", Description: "Finds the team a ticket belongs to.", Nodes: []flow.Node{
		{ID: "ticket", Kind: "input", Config: map[string]any{"name": "ticket"}}, {ID: "tone", Kind: "input", Config: map[string]any{"name": "tone", "default": "friendly"}},
		{ID: "reply", Kind: "output", Config: map[string]any{"name": "reply"}}}}
	all["overview"] = FlowOverview(FlowPaneOf("flow_1", overview, paneKinds()))
	all["overview-empty"] = FlowOverview(FlowPaneOf("flow_1", &flow.Document{Name: "New"}, paneKinds()))
	many := []components.ModelChoice{{ID: "anthropic/a"}, {ID: "anthropic/b"}, {ID: "anthropic/c"}, {ID: "anthropic/d"}, {ID: "anthropic/e", Context: "200K", Price: "$1.00 / $5.00", PriceNote: "List price of 2026-09-23"}}
	all["models"] = Models(ModelList{FlowID: "flow_1", Current: "openai/gpt-5-nano", Connected: "openai", More: true, Groups: []components.ModelGroup{
		{Name: "ollama", Title: "Ollama", Hint: "on this machine", Place: components.PlaceLocal, Models: []components.ModelChoice{{ID: "ollama/llama3.2", Price: "Free"}}},
		{Name: "openai", Title: "OpenAI", Place: components.PlaceConnected, Models: []components.ModelChoice{{ID: "openai/gpt-5-nano", Text: "openai", Context: "400K", Price: "$0.05 / $0.40", Can: []string{"Vision", "Tools", "JSON"}}}},
		{Name: "groq", Title: "Groq", Place: components.PlaceConnected, Note: "The credential is refused."},
		{Name: "anthropic", Title: "Anthropic", Hint: "Chat", Place: components.PlaceOffered, KeysURL: "https://platform.claude.com/settings/keys", Models: many},
	}})
	all["models-viewer"] = Models(ModelList{Groups: []components.ModelGroup{{Name: "anthropic", Title: "Anthropic", Place: components.PlaceOffered, Models: many[:1]}}})
	all["models-hosted"] = Models(ModelList{Groups: []components.ModelGroup{{Name: "image-generation", Title: "Make images", Models: []components.ModelChoice{{ID: "black-forest-labs/flux-schnell", Title: "FLUX schnell", Text: "Makes images of descriptions.", Detail: "300M runs"}}}}})
	all["models-none"] = Models(ModelList{Query: "lama<", FlowID: "flow_1", Servers: []components.ModelGroup{{Name: "openai_compatible", Title: "OpenAI-compatible server", Address: "https://models.example.com/v1"}, {Name: "replicate", Title: "Replicate", KeysURL: "https://replicate.com/account/api-tokens"}}})
	all["upgrade"] = UpgradeOf(components.Upgrade{FlowID: "flow_1", Node: "m", Name: "acme/paint", Changes: []components.UpgradeChange{{Sentence: "The input steps is at most 30 now."}, {Sentence: "The input seed is gone.", Breaking: true}}, Misfits: []string{"input.seed: The model has no input of this name."}})
	all["server-tools"] = sampleServerTools(theme)
	all["credential-new"] = NewCredential(CredentialForm{FlowID: "flow_1", Provider: "openai", Providers: []components.Option{{Value: "", Label: "Anything: a plain secret"}, {Value: "openai", Label: "OpenAI"}}, Errors: components.Errors{"secret": "Paste the secret here."}})
	return all
}

func inspectorAlone(theme layout.Theme, p NodePane) templ.Component {
	return InspectorPage(viewtest.Page(p.Name, layout.SectionFlows, theme), p)
}

var paneCredentials = []CredentialChoice{{"hooks", ""}, {"openai", "openai"}, {"openai-eu", "openai"}}

// paneOfExample is the inspector of a node that has the example of its kind.
func paneOfExample(k *flow.Kind) NodePane {
	n := flow.Node{ID: "sample", Kind: k.Name, Config: maps.Clone(k.Example.Config)}
	return paneOfNode(n)
}

func paneOfNode(n flow.Node, edges ...flow.Edge) NodePane {
	d := &flow.Document{Schema: flow.Schema, Nodes: []flow.Node{
		{ID: "ticket", Kind: "input", Config: map[string]any{"name": "ticket"}},
		{ID: "team", Kind: "classify", Label: "Which team", Config: map[string]any{}}, n}, Edges: edges}
	return PaneOf(d, &d.Nodes[2], paneKinds().For(&d.Nodes[2]), PaneFacts{FlowID: "flow_1", Kinds: paneKinds(), Credentials: paneCredentials, Problems: document.Validate(d, paneKinds())})
}

func value(text string) any {
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// fieldsPane has a field of each type, with a value and without.
func fieldsPane() NodePane {
	low, high := 0.0, 2.0
	file := `{"file": "file_01jd6v0q8z0000000000000000", "name": "plan.png", "mime": "image/png", "size": 20480}`
	fields := []struct {
		flow.Field
		value string
	}{
		{flow.Field{Name: "text", Type: flow.FieldText, Help: "One line.", Suggest: "what the model takes"}, `"a line"`},
		{flow.Field{Name: "area", Type: flow.FieldArea, Template: true, Required: true}, `"Dear {{name}},\n\n\\{{ stays"`},
		{flow.Field{Name: "number", Type: flow.FieldNumber, Min: &low, Max: &high, Suggest: flow.Number(0.7)}, `0.5`},
		{flow.Field{Name: "integer", Type: flow.FieldInteger, Min: &low, Default: flow.Number(3)}, `12`},
		{flow.Field{Name: "boolean", Type: flow.FieldBoolean}, `true`},
		{flow.Field{Name: "switch", Type: flow.FieldBoolean, Default: true}, `false`},
		{flow.Field{Name: "select", Type: flow.FieldSelect, Options: []string{"GET", "POST"}, Default: "GET"}, `"TRACE"`},
		{flow.Field{Name: "values", Type: flow.FieldSelect, Options: []string{"1", "2"}, Values: value(`[1, 2]`).([]any)}, `2`},
		{flow.Field{Name: "list", Type: flow.FieldList}, `["<b>", "b"]`},
		{flow.Field{Name: "images", Type: flow.FieldList, Value: flow.TypeSources}, `[` + file + `, "https://example.com/a.png"]`},
		{flow.Field{Name: "map", Type: flow.FieldMap, Secrets: flow.SecretsByName}, `{"Accept": "*/*", "Authorization": {"credential": "hooks"}}`},
		{flow.Field{Name: "json", Type: flow.FieldJSON}, `{"a": [1, null]}`},
		{flow.Field{Name: "secret", Type: flow.FieldSecret}, `{"credential": "gone"}`},
		{flow.Field{Name: "type", Type: flow.FieldValueType, Default: "text"}, `"number"`},
		{flow.Field{Name: "file", Type: flow.FieldFile, Value: flow.TypeSource, Accept: []string{"image/*", ".pdf"}}, file},
		{flow.Field{Name: "model", Type: flow.FieldModel, Task: "chat"}, `"ollama/llama3.2"`},
	}
	k := flow.Kind{Name: "every", Title: "Every field", Group: "Text and data", Icon: "braces", Summary: "Has a field of each type.", Doc: "It is `a test`."}
	n := flow.Node{ID: "sample", Kind: "every", Config: map[string]any{}, OnError: &flow.OnError{Continue: map[string]any{"out": "sorry"}}, Retry: &flow.Retry{Attempts: 3, BackoffS: 2}}
	for _, f := range fields {
		n.Config[f.Name] = value(f.value)
		k.Fields = append(k.Fields, f.Field)
		empty := f.Field
		empty.Name += "_empty"
		k.Fields = append(k.Fields, empty)
	}
	k.Outputs = []flow.Port{{Name: "out", Type: flow.TypeText}, {Name: "size", Type: flow.TypeNumber}}
	d := &flow.Document{Nodes: []flow.Node{n}}
	p := PaneOf(d, &d.Nodes[0], &k, PaneFacts{FlowID: "flow_1", Kinds: paneKinds(), Credentials: paneCredentials})
	p.Fields[2].Error = "“{{” begins a place and is not closed."
	return p
}

// fedPane has fields that edges feed, and places that are open.
func fedPane() NodePane {
	n := flow.Node{ID: "write", Kind: "chat", Label: "Write a reply", Config: map[string]any{"model": "openai/gpt-5-nano", "prompt": "For {{team}}:\n{{ticket}}\n{{tone}}", "system": "Be brief.", "temperature": "warm"}}
	return paneOfNode(n, flow.Edge{From: "team.label", To: "write.team"}, flow.Edge{From: "ticket.value", To: "write.ticket"}, flow.Edge{From: "ticket.value", To: "write.system"})
}

// schemaPane is a hosted model with its schema.
func schemaPane() NodePane {
	schema := value(`{"version": "` + strings.Repeat("a", 64) + `", "input": {"type": "object", "required": ["prompt"], "properties": {
		"prompt": {"type": "string", "title": "Prompt", "x-order": 0, "description": "What to draw."},
		"steps": {"type": "integer", "minimum": 1, "maximum": 50, "default": 28, "x-order": 1},
		"image": {"type": "string", "format": "uri", "x-order": 2},
		"ratio": {"type": "string", "enum": ["1:1", "16:9"], "default": "1:1", "x-order": 3},
		"fast": {"type": "boolean", "default": true, "x-order": 4}}}, "output": {"type": "string"}}`)
	return paneOfNode(flow.Node{ID: "draw", Kind: "hosted_model", Config: map[string]any{"model": "acme/paint", "schema": schema, "input.prompt": "A {{animal}}", "input.steps": json.Number("30")}})
}

// sent is the form of a page as a browser would send it.
func sent(t *testing.T, page templ.Component) url.Values {
	t.Helper()
	var out strings.Builder
	if err := page.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	values := url.Values{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || attr(n, "name") == "" {
			continue
		}
		switch n.Data {
		case "input":
			if kind := attr(n, "type"); kind != "file" && (kind != "checkbox" || has(n, "checked")) {
				values.Add(attr(n, "name"), attr(n, "value"))
			}
		case "textarea":
			values.Add(attr(n, "name"), strings.ReplaceAll(words(n), "\n", "\r\n"))
		case "select":
			values.Add(attr(n, "name"), selected(n))
		}
	}
	return values
}

// selected is the choice that a browser sends: the last that is marked, or the first.
func selected(n *html.Node) string {
	first, marked := "", ""
	found := false
	for o := range n.Descendants() {
		if o.Data != "option" {
			continue
		}
		if !found {
			first, found = attr(o, "value"), true
		}
		if has(o, "selected") {
			marked = attr(o, "value")
		}
	}
	if marked != "" {
		return marked
	}
	return first
}

// TestInspector_roundTrip holds, for the example of each kind and for a field
// of each type, that what the form shows is read as the config that it shows.
func TestInspector_roundTrip(t *testing.T) {
	t.Parallel()
	panes := map[string]NodePane{"fields": fieldsPane(), "fed": fedPane(), "schema": schemaPane()}
	for _, k := range paneKinds().List() {
		panes[k.Name] = paneOfExample(k)
	}
	for name, p := range panes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := sent(t, Inspector(p))
			for _, f := range slices.Concat(p.Fields, p.More) {
				form := document.FormValue{As: flow.FieldType(values.Get("as." + f.Name)), Names: values["name."+f.Name], Texts: values["text."+f.Name], Kept: values["kept."+f.Name]}
				want, err := document.ParseForm(&f.Field, f.Form)
				if err != nil {
					t.Fatal(err)
				}
				if f.switched() && want == nil && form.As == flow.FieldBoolean || f.Type == flow.FieldValueType && want == nil {
					continue // shows the usual value
				}
				if form.As == flow.FieldBoolean && len(form.Texts) == 0 {
					form.Texts = []string{"false"}
				}
				got, err := document.ParseForm(&f.Field, form)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s shows %#v and sends %#v, %v", f.Name, want, got, err)
				}
			}
		})
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func words(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return out.String()
}

// sampleServerTools is the page of the tools of a server; one has changed.
func sampleServerTools(theme layout.Theme) templ.Component {
	schema, _ := flow.AsObject(map[string]any{"type": "object", "properties": map[string]any{"ticket": map[string]any{"type": "integer"}}})
	tool := func(name, text string, effect flow.Effect) flow.ServerTool {
		t := flow.ServerTool{Name: name, Description: text, Schema: schema, Effect: effect}
		t.SHA256 = t.Hash()
		return t
	}
	search, note, gone := tool("search_articles", "Search help center articles", flow.EffectRead), tool("add_note", "Add an internal note to a ticket", flow.EffectWrite), tool("merge<", "Merges\u200b tickets", flow.EffectWrite)
	return ServerTools(viewtest.Page("Tools of zendesk", layout.SectionFlows, theme), ServerToolsPage{
		FlowID: "flow_1", Flow: "Resolve a support case", Node: "zendesk", NodeName: "Zendesk", Server: "zendesk", Title: "Zendesk", Error: "zendesk did not answer in time.", Now: viewtest.Noon,
		Connection: &components.Connection{Connected: true, Issuer: "https://auth.example.com", By: "Ada", At: viewtest.Noon, Account: "support@northwind.com"}, Tools: []ServerToolRow{
			{ServerTool: search, State: flow.ToolSame, Allowed: true, Now: &search},
			{ServerTool: note, State: flow.ToolChanged, Allowed: true, Now: &note, DescriptionDiff: []Piece{{"", "Add "}, {ChangeRemoved, "an internal note"}, {ChangeAdded, "a note, public by default,"}, {"", " to a ticket"}}, SchemaDiff: []Piece{{"", "{"}, {ChangeAdded, "\n  \"public\": {}"}, {"", "\n}"}}},
			{ServerTool: gone, State: flow.ToolMissing, Allowed: true},
			{ServerTool: tool("delete_ticket", "Delete a ticket for good", flow.EffectWrite), Now: &search},
		},
	})
}
