package library

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
)

// MoveSecret moves a text that looks like a secret to a new credential, bound to the host that the
// node sends it to if that host is fixed. index is the index in the suggestions for the field. It
// returns the name of the credential.
func (l *Library) MoveSecret(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, flowID flow.FlowID, node, field string, index int) (name string, err error) {
	for try := 0; ; try++ {
		e := entry(ws, "credential.save", "", "flow:"+string(flowID))
		err := record(ctx, l.Store, by, e, func(ctx context.Context) error {
			name, err = l.moveSecret(ctx, ws, flowID, by.ID, node, field, index)
			e.Target = name
			return err
		})
		if _, missed := errors.AsType[*document.EditsMissed](err); !missed || try == 3 {
			return name, err
		}
	}
}

// moveSecret moves the suggested secret at an index of a field to a credential. The index
// counts the suggestions for the field as it is stored now.
func (l *Library) moveSecret(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, user, node, field string, index int) (string, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return "", err
	}
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return "", fmt.Errorf("the stored draft of %s cannot be read", flowID)
	}
	n := d.Node(node)
	gone := flow.Errorf(document.CodeEditsGone, "The field has changed. Load the page again.")
	if n == nil {
		return "", gone
	}
	k := l.Kinds.For(n)
	if k == nil || k.Field(field) == nil {
		return "", gone
	}
	list := document.SuggestSecrets(n, k.Field(field))
	if index < 0 || index >= len(list) {
		return "", gone
	}
	s := list[index]
	secret := &document.ExtractedSecret{Node: n.ID, Field: strings.ToLower(s.Name), Secret: s.Secret}
	if secret.Field == "" {
		secret.Field = field
	}
	if hosts, open := document.FindDestination(d, n, document.FieldDestination(k, k.Field(field))); !open {
		secret.Host = hosts[0]
	}
	names := &secretNamer{library: l, flow: f, title: d.Name}
	name := names.of(ctx)(secret)
	if err := names.keep(ctx, []*document.ExtractedSecret{secret}); err != nil {
		return "", err
	}
	edit := document.Edit{Op: document.OpSet, Node: n.ID, Field: field, Value: s.Replace(n.Config[field], name)}
	hide := func(e *document.Edit) {
		if e.Op == document.OpSet && e.Node == n.ID && e.Field == field {
			e.Value = s.Replace(e.Value, name)
		}
	}
	_, err = l.editFlow(ctx, ws, flowID, user, document.EditRequest{Base: f.Rev, Tab: "form", TxID: rand.Text(), Ops: []document.Edit{edit}}, hide)
	return name, err
}
