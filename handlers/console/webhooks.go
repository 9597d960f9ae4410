package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/snippets"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// webhookRoutes returns the routes of the webhooks of a flow.
func (s *Server) webhookRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/webhooks", web.Viewer, showWebhooks},
		{http.MethodPost, "/flows/:flow/webhooks/secret", web.Editor, showSecret},
		{http.MethodPost, "/flows/:flow/webhooks/rotate", web.Editor, rotateSecret},
		{http.MethodPost, "/flows/:flow/webhooks/end", web.Editor, endSecret},
		{http.MethodPost, "/flows/:flow/webhooks/test", web.Editor, web.Posted(web.OnFlow(testWebhook))},
	}
}

// readOverlap parses the grace period of a replaced secret. It returns false if the
// text is not one of the options.
func readOverlap(text string) (time.Duration, bool) {
	if !slices.ContainsFunc(consoleview.Overlaps, func(o components.Option) bool { return o.Value == text }) {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// showWebhooks is GET /flows/{id}/webhooks.
func showWebhooks(c *call) error {
	return webhooksPage(c, http.StatusOK, func(*consoleview.WebhooksPage) {})
}

// webhooksPage renders the page. add adds details of the response, such as a secret
// or an error.
func webhooksPage(c *call, status int, add func(*consoleview.WebhooksPage)) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	page := consoleview.WebhooksPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, MayEdit: c.MayEdit(), Now: c.s.Now()}
	sent, err := webhookNodes(c, f)
	if err != nil {
		return err
	}
	for i := range sent {
		n, err := webhookView(c, f, &sent[i])
		if err != nil {
			return err
		}
		page.Shared = page.Shared || n.Signing != nil && n.Signing.Inherited
		page.Nodes = append(page.Nodes, n)
	}
	if page.Endpoints, err = endpointViews(c, f.ID, false); err != nil {
		return err
	}
	secrets, err := c.s.Store.SigningSecrets(c.Ctx(), c.WorkspaceID(), f.ID)
	if err != nil {
		return err
	}
	page.Signing = consoleview.SigningBox{Anchor: "secret", Label: "the flow", Before: overlapEnds(secrets)}
	add(&page)
	if page.Snippets, err = verifySnippets(c, f, page.ShownSecret()); err != nil {
		return err
	}
	return c.Render(status, consoleview.Webhooks(c.Page("Webhooks of "+f.Name, layout.SectionFlows), page))
}

// verifySnippets returns code that verifies a signature, in each language.
func verifySnippets(c *call, f *flow.Flow, secret string) (list []components.Panel, err error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil, nil
	}
	wanted := snippets.CallOf(c.s.PublicURL, f, contract.Inputs(d, c.s.Kinds), document.Outputs(d, c.s.Kinds))
	wanted.Webhook.Secret = secret
	for _, l := range snippets.Languages() {
		code, err := snippets.Render(l.ID, snippets.ModeWebhook, wanted)
		if err != nil {
			return nil, err
		}
		list = append(list, components.Panel{Label: l.Name, Content: consoleview.VerifyCode(l.Name, code, components.Highlighted(components.CodePieces(snippets.Highlight(l.ID, code))))})
	}
	return list, nil
}

// overlapEnds returns the times at which replaced secrets stop signing.
func overlapEnds(secrets []flow.SigningSecret) (list []time.Time) {
	for _, s := range secrets {
		if !s.Until.IsZero() {
			list = append(list, s.Until)
		}
	}
	return list
}

// findSigner returns the flow of the path and the webhook node whose secret the form
// is about. The node is nil if it is about the secret of the flow.
func findSigner(c *call) (*flow.Flow, *webhookNode, error) {
	if err := c.ParseForm(); err != nil {
		return nil, nil, err
	}
	f, err := c.FindFlow()
	if err != nil || c.FormValue("node") == "" {
		return f, nil, err
	}
	list, err := webhookNodes(c, f)
	for i := range list {
		if n := &list[i]; n.ID == c.FormValue("node") && n.from == c.FormValue("from") {
			return f, n, nil
		}
	}
	if err == nil {
		err = flow.Errorf(flow.CodeInputInvalid, "This webhook no longer exists. Reload the page.")
	}
	return nil, nil, err
}

// changeSigningBox returns a function that applies set to the box of one secret: that
// of the node, or that of the flow if n is nil.
func changeSigningBox(n *webhookNode, set func(*consoleview.SigningBox)) func(*consoleview.WebhooksPage) {
	return func(p *consoleview.WebhooksPage) {
		if n == nil {
			set(&p.Signing)
			return
		}
		for i := range p.Nodes {
			if v := &p.Nodes[i]; v.ID == n.ID && v.From == n.from && v.Signing != nil {
				set(v.Signing)
			}
		}
	}
}

// showSecret is POST secret: the page with the secret.
func showSecret(c *call) error {
	f, n, err := findSigner(c)
	if err != nil {
		return err
	}
	list, err := c.s.secrets.Read(c.Ctx(), c.Actor(), f, webhookOwner(c, f, n))
	if err != nil {
		return err
	}
	return webhooksPage(c, http.StatusOK, changeSigningBox(n, func(b *consoleview.SigningBox) { b.Secret = list[0].Secrets[0].Secret }))
}

// rotateSecret is POST rotate: a new secret. The old one keeps signing for the
// chosen overlap.
func rotateSecret(c *call) error {
	f, n, err := findSigner(c)
	if err != nil {
		return err
	}
	refuse := func(text string) error {
		return webhooksPage(c, http.StatusUnprocessableEntity, changeSigningBox(n, func(b *consoleview.SigningBox) { b.Error = text }))
	}
	overlap, ok := readOverlap(c.FormValue("overlap"))
	if !ok {
		return refuse("Choose one of the options.")
	}
	_, err = c.s.secrets.Rotate(c.Ctx(), c.Actor(), f, webhookOwner(c, f, n), overlap)
	if errors.Is(err, &flow.Error{Code: flow.CodeInputInvalid}) {
		return refuse(flow.AsError(err).Message)
	}
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The secret was replaced. Show it to give it to your receivers.")
	return c.Redirect("/flows/" + string(f.ID) + "/webhooks")
}

// endSecret is POST end: replaced secrets stop signing immediately.
func endSecret(c *call) error {
	f, n, err := findSigner(c)
	if err != nil {
		return err
	}
	if err := c.s.secrets.End(c.Ctx(), c.Actor(), f, webhookOwner(c, f, n)); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "Messages are now signed with the new secret only.")
	return c.Redirect("/flows/" + string(f.ID) + "/webhooks")
}

// webhookNode is a webhook node of a document.
type webhookNode struct {
	*flow.Node
	from    string // draft or live
	live    bool   // the live version has the same node
	url     string // empty if an edge provides it
	host    string // see flow.WebhookOwner
	outputs []string
}

// webhookNodes returns the webhook nodes of the draft, and those of the live
// version that differ from the draft or are missing in it.
func webhookNodes(c *call, f *flow.Flow) (list []webhookNode, err error) {
	draft, _ := document.ParseDocument(f.Draft)
	list = webhookNodesOf(c, draft, "draft")
	if f.LiveHash == "" {
		return list, nil
	}
	data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), f.LiveHash)
	if err != nil {
		return nil, err
	}
	live, _ := document.ParseDocument(data)
	for _, n := range webhookNodesOf(c, live, "live") {
		i := slices.IndexFunc(list, func(d webhookNode) bool { return d.ID == n.ID && d.from == "draft" })
		if i >= 0 && string(flow.EncodeJSON(list[i].Config)) == string(flow.EncodeJSON(n.Config)) {
			list[i].live = true
		} else {
			list = append(list, n)
		}
	}
	return list, nil
}

// webhookNodesOf returns the webhook nodes of a document.
func webhookNodesOf(c *call, d *flow.Document, from string) (list []webhookNode) {
	if d == nil {
		return nil
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if k := c.s.Kinds.For(n); k == nil || k.OutputsField == "" {
			continue
		}
		s := webhookNode{Node: n, from: from, url: document.WebhookURL(d, n), host: document.WebhookHost(d, n)}
		chosen, _ := n.Config["outputs"].([]any)
		for _, o := range contract.Outputs(d, c.s.Kinds) {
			if len(chosen) == 0 || slices.Contains(chosen, any(o.Name)) {
				s.outputs = append(s.outputs, o.Name)
			}
		}
		list = append(list, s)
	}
	return list
}

// webhookOwner returns the owner of the secret with which a node signs, or the flow if n is nil.
func webhookOwner(c *call, f *flow.Flow, n *webhookNode) flow.WebhookOwner {
	if n == nil {
		return flow.WebhookOwner{WorkspaceID: c.WorkspaceID(), FlowID: f.ID}
	}
	return flow.WebhookOwner{WorkspaceID: c.WorkspaceID(), FlowID: f.ID, Node: n.ID, Host: n.host}
}

// webhookView converts a node without its secret. It uses PeekWebhookSecret, because
// reading the secret would create it.
func webhookView(c *call, f *flow.Flow, n *webhookNode) (v consoleview.WebhookNode, err error) {
	v = n.view()
	if flow.IsSecretRef(n.Config["secret"]) {
		return v, nil
	}
	secret, err := c.s.Store.PeekWebhookSecret(c.Ctx(), webhookOwner(c, f, n))
	if err != nil {
		return v, err
	}
	v.Signing = &consoleview.SigningBox{Anchor: "webhook-" + n.from + "-" + n.ID, Node: n.ID, From: n.from, Label: v.Label, Inherited: secret.Inherits, Before: overlapEnds(secret.Secrets)}
	if secret.Inherits {
		v.Secret = "the flow’s secret until you replace it here"
	}
	return v, nil
}

// view converts a node.
func (n *webhookNode) view() consoleview.WebhookNode {
	v := consoleview.WebhookNode{ID: n.ID, Label: n.Label, URL: flow.ShownURL(n.url), From: n.from, Live: n.live || n.from == "live", Outputs: strings.Join(n.outputs, ", "), Secret: "its own secret"}
	if v.Label == "" {
		v.Label = n.ID
	}
	if v.Outputs == "" {
		v.Outputs = "no output yet"
	}
	if name, isRef := flow.SecretRef(n.Config["secret"]); isRef {
		v.Secret = "the credential “" + name + "”, which cannot be shown"
	}
	return v
}

// testMessage returns the body of a test message. Its type is "test", and its
// data has the same names as a real message.
func (n *webhookNode) testMessage(now time.Time) []byte {
	data := map[string]any{}
	for _, name := range n.outputs {
		data[name] = "An example of “" + name + "”."
	}
	return flow.EncodeJSON(struct {
		Type      string         `json:"type"`
		Timestamp string         `json:"timestamp"`
		Data      map[string]any `json:"data"`
	}{"test", now.UTC().Format(flow.TimeForm), data})
}

// testWebhook is POST test: it sends a real, signed message that is marked as a test.
// Values that come from edges in a run are omitted.
func testWebhook(c *call, f *flow.Flow) error {
	list, err := webhookNodes(c, f)
	if err != nil {
		return err
	}
	for i := range list {
		if n := &list[i]; n.ID == c.FormValue("node") && n.from == c.FormValue("from") {
			return sendTest(c, f, n)
		}
	}
	return flow.Errorf(flow.CodeInputInvalid, "This webhook no longer exists. Reload the page.")
}

// sendTest sends the test to the submitted URL. The page shows URLs without their
// query string, so an unchanged URL stands for the full URL of the node.
func sendTest(c *call, f *flow.Flow, n *webhookNode) error {
	typed := strings.TrimSpace(c.FormValue("url"))
	to := typed
	if typed == flow.ShownURL(n.url) {
		to = n.url
	}
	if problem := receiverProblem(c, n.Node, to); problem != "" {
		return webhooksPage(c, http.StatusUnprocessableEntity, func(p *consoleview.WebhooksPage) {
			for i := range p.Nodes {
				if v := &p.Nodes[i]; v.ID == n.ID && v.From == n.from {
					v.URL, v.Error = typed, problem
				}
			}
		})
	}
	message := &flow.NewDelivery{Node: n.ID, URL: to, Host: n.host, Body: n.testMessage(c.s.Now())}
	if flow.IsSecretRef(n.Config["secret"]) {
		message.Secret = n.Config["secret"]
	}
	if flow.IsSecretRef(n.Config["signature"]) {
		message.Signature, message.Header = n.Config["signature"], flow.Text(n.Config["signature_header"])
		if message.Header == "" {
			message.Header = "X-Signature"
		}
	}
	d, err := c.s.deliveries.SendTest(c.Ctx(), c.Actor(), f, message)
	if err != nil {
		return err
	}
	return c.Redirect("/deliveries/" + d.ID)
}

// receiverProblem explains why a test cannot be sent to a URL, or returns "". It uses
// the check of the node kind.
func receiverProblem(c *call, n *flow.Node, to string) string {
	if to == "" || strings.Contains(flow.WithSampleSecrets(to), "{{") { // there is no run that could resolve a template
		return "Enter a URL such as https://example.com/hooks."
	}
	node := &flow.Node{ID: n.ID, Kind: n.Kind, Config: map[string]any{"url": to}}
	for _, p := range c.s.Kinds.For(node).Check(node) {
		if p.Pointer == flow.Pointer("url") {
			return p.Detail
		}
	}
	return ""
}
