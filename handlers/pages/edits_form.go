package pages

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/views"
)

// formTries is how often an edit that a form asks for is made anew because
// somebody else was faster.
const formTries = 5

// formStep is how far a form moves a node, in units of the canvas.
const formStep = 40

// editByForm is POST /flows/{id}/edit: one change of the draft, for pages
// without a script. The fields are named like the members of an edit.
func (c *call) editByForm() error {
	if err := c.form(); err != nil {
		return err
	}
	form := c.Request().PostForm
	for range formTries {
		d, err := c.findDraft()
		if err != nil {
			return err
		}
		node, ops, err := editsOf(form, d, c.s.Kinds)
		if err == nil {
			_, err = c.s.Library.EditFlow(c.ctx(), c.ws(), d.flow.ID, c.member.UserID, flow.EditRequest{Base: d.flow.Rev, Tab: "form", TxID: rand.Text(), Ops: ops})
		}
		if _, faster := errors.AsType[*flow.EditsMissed](err); faster {
			continue
		}
		if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeEditsInvalid {
			return c.refuseForm(d, e, form)
		}
		if err != nil {
			return err
		}
		return c.see(outlinePath(d.flow.ID, node))
	}
	return flow.Errorf(flow.CodeOverloaded, "Others change this flow right now. Try again.")
}

func outlinePath(flowID, node string) string {
	path := "/flows/" + url.PathEscape(flowID)
	if node != "" {
		path += "?node=" + url.QueryEscape(node)
	}
	return path + "#outline"
}

// refuseForm shows the page again with the reason and with what was typed.
func (c *call) refuseForm(d *draft, e *flow.Error, form url.Values) error {
	reason := e.Message
	if len(e.Fields) > 0 {
		reason = views.Sentence(e.Fields[0].Detail)
	}
	return c.builder(http.StatusUnprocessableEntity, d, func(b *views.BuilderPage) {
		b.Refused, b.Outlined = reason, true
		b.Outline = c.outline(d, form.Get("node"))
		if form.Has("name") {
			b.TypedName = form.Get("name")
		}
		if form.Has("description") {
			b.Description = form.Get("description")
		}
		if b.Outline.Open != nil && form.Get("member") == "label" {
			b.Outline.Open.Label = form.Get("value")
		}
	})
}

// formEdits make the edits of each operation, and say which node is to be shown
// then.
var formEdits = map[string]func(url.Values, *draft, *flow.Registry) (node string, ops []flow.Edit){
	flow.OpAdd: addByForm, flow.OpRemove: removeByForm, flow.OpConnect: connectByForm, flow.OpDisconnect: disconnectByForm,
	flow.OpPut: putByForm, flow.OpMove: moveByForm, flow.OpName: nameByForm,
}

func editsOf(form url.Values, d *draft, kinds *flow.Registry) (string, []flow.Edit, error) {
	edits := formEdits[form.Get("op")]
	if edits == nil {
		return "", nil, refusal("there is no such change")
	}
	node, ops := edits(form, d, kinds)
	if len(ops) == 0 {
		return "", nil, refusal("this is not there any more; look at the flow again")
	}
	// What a form says is read as strictly as what the canvas says.
	ops, err := flow.DecodeEdits(flow.EncodeJSON(ops))
	return node, ops, err
}

func refusal(reason string) error {
	return &flow.Error{Code: flow.CodeEditsInvalid, Message: "This change cannot be made.", Fields: []flow.Problem{{Code: "invalid", Detail: reason}}}
}

// addByForm puts a new node right of all others.
func addByForm(form url.Values, d *draft, kinds *flow.Registry) (string, []flow.Edit) {
	k := kinds.Find(form.Get("kind"))
	if k == nil {
		return "", nil
	}
	n := &flow.Node{ID: freeID(d, k.Name), Kind: k.Name, Position: freePlace(d), Config: map[string]any{}}
	if k.Role == flow.RoleInput || k.Role == flow.RoleOutput {
		n.Config["name"] = n.ID
	}
	return n.ID, []flow.Edit{{Op: flow.OpAdd, New: n}}
}

// freeID is an ID like base that no node has, nor any input or output as name.
func freeID(d *draft, base string) string {
	taken := map[string]bool{}
	for i := range d.Nodes {
		taken[d.Nodes[i].ID] = true
		taken[flow.Text(d.Nodes[i].Config["name"])] = true
	}
	id := base
	for i := 2; taken[id]; i++ {
		id = fmt.Sprintf("%s_%d", base, i)
	}
	return id
}

func freePlace(d *draft) *flow.Position {
	p := flow.Position{}
	for i := range d.Nodes {
		if at := placeOf(&d.Nodes[i]); i == 0 || at.X+280 > p.X {
			p = flow.Position{X: at.X + 280, Y: at.Y}
		}
	}
	return &p
}

func removeByForm(form url.Values, _ *draft, _ *flow.Registry) (string, []flow.Edit) {
	return "", []flow.Edit{{Op: flow.OpRemove, Nodes: form["nodes"]}}
}

// connectByForm joins two ports; an input that takes one edge gives its old one up.
func connectByForm(form url.Values, d *draft, kinds *flow.Registry) (string, []flow.Edit) {
	e := flow.Edge{From: form.Get("from"), To: form.Get("to")}
	node := nodeOf(e.To)
	var ops []flow.Edit
	if !takesMany(d, kinds, e.To) {
		for _, old := range d.Edges {
			if old.To == e.To && old != e {
				ops = append(ops, flow.Edit{Op: flow.OpDisconnect, Edge: old})
			}
		}
	}
	return node, append(ops, flow.Edit{Op: flow.OpConnect, Edge: e})
}

func takesMany(d *draft, kinds *flow.Registry, ref string) bool {
	id, port, _ := strings.Cut(ref, ".")
	n := d.Node(id)
	if n == nil {
		return false
	}
	k := kinds.For(n)
	return k != nil && slices.ContainsFunc(flow.InputPorts(n, k), func(p flow.Port) bool { return p.Name == port && p.List })
}

func disconnectByForm(form url.Values, _ *draft, _ *flow.Registry) (string, []flow.Edit) {
	e := flow.Edge{From: form.Get("from"), To: form.Get("to")}
	return nodeOf(e.To), []flow.Edit{{Op: flow.OpDisconnect, Edge: e}}
}

// putByForm writes a member of a node; an empty value takes it out.
func putByForm(form url.Values, _ *draft, _ *flow.Registry) (string, []flow.Edit) {
	e := flow.Edit{Op: flow.OpPut, Node: form.Get("node"), Member: form.Get("member")}
	text := strings.TrimSpace(form.Get("value"))
	switch {
	case text == "":
		e.Unset = true
	case e.Member == "disabled":
		e.Value = text == "true"
	default:
		e.Value = text
	}
	return e.Node, []flow.Edit{e}
}

// ways are the directions of a move, in steps.
var ways = map[string]flow.Position{"left": {X: -1}, "right": {X: 1}, "up": {Y: -1}, "down": {Y: 1}}

func moveByForm(form url.Values, d *draft, _ *flow.Registry) (string, []flow.Edit) {
	n := d.Node(form.Get("nodes"))
	way, known := ways[form.Get("way")]
	if n == nil || !known {
		return "", nil
	}
	at := placeOf(n)
	to := &flow.Position{X: at.X + formStep*way.X, Y: at.Y + formStep*way.Y}
	return n.ID, []flow.Edit{{Op: flow.OpMove, Places: map[string]*flow.Position{n.ID: to}}}
}

func nameByForm(form url.Values, _ *draft, _ *flow.Registry) (string, []flow.Edit) {
	e := flow.Edit{Op: flow.OpName}
	if form.Has("name") {
		name := strings.TrimSpace(form.Get("name"))
		e.Name = &name
	}
	if form.Has("description") {
		description := strings.TrimSpace(form.Get("description"))
		e.Description = &description
	}
	return "", []flow.Edit{e}
}
