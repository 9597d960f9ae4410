package library

import (
	"context"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

// TestCredentials_in_URL_go_to_host_of_URL checks that a credential in the URL of an image is sent to
// that URL's host, and the node's own credential to the host of the model.
func TestCredentials_in_URL_go_to_host_of_URL(t *testing.T) {
	t.Parallel()
	kinds := flow.NewRegistry(flow.Kind{
		Name: "see", Title: "See", Group: "Test", Summary: "Looks at pictures.",
		Fields: []flow.Field{{Name: "credential", Type: flow.FieldSecret}, {Name: "images", Type: flow.FieldList, Value: flow.TypeAny, Secrets: flow.SecretsInURL}},
		Sends:  &flow.Destination{Field: "model", Hosts: func(*flow.Node) []string { return []string{"models.example.com"} }},
		Run:    func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil },
	})
	doc := &flow.Document{Nodes: []flow.Node{{ID: "n", Kind: "see", Config: map[string]any{
		"credential": map[string]any{"credential": "model"},
		"images":     []any{"https://a.example.com/?sig={{credential:picture}}", "https://b.example.com/", "https://{{x}}.example.com/"},
	}}}}
	d := &destinations{hosts: map[string][]string{}, open: map[string]bool{}}
	d.add(doc, kinds)
	if got := string(flow.EncodeJSON(d.hosts)); got != `{"model":["models.example.com"],"picture":["a.example.com"]}` || len(d.open) != 0 {
		t.Errorf("got %s, open %v", got, d.open)
	}
	n, k := &doc.Nodes[0], kinds.For(&doc.Nodes[0])
	for _, use := range document.SentCredentials(n, k) {
		host := map[string]string{"model": "models.example.com", "picture": "a.example.com"}[use.Credential]
		for _, bound := range []string{host, "other.example.com"} {
			p := (&Library{}).credentialProblem(doc, n, document.FieldDestination(k, k.Field(use.Field)), &flow.Credential{Name: use.Credential, Hosts: []string{bound}})
			if (p == nil) != (bound == host) {
				t.Errorf("%s bound to %s: %v", use.Credential, bound, p)
			}
		}
	}
}
