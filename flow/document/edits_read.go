package document

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// DecodeEdits decodes a list of edits strictly. The error lists all problems with their
// locations.
func DecodeEdits(data []byte) ([]Edit, error) {
	v, err := decodeEdits(data)
	if err != nil {
		return nil, err
	}
	r := &reader{}
	ops := r.edits(v, "")
	return ops, EditsInvalid(r.problems)
}

// DecodeEditRequest decodes {"base", "tab", "txid", "ops"} strictly, or the same with "undo"
// instead of "ops".
func DecodeEditRequest(data []byte) (EditRequest, error) {
	v, err := decodeEdits(data)
	if err != nil {
		return EditRequest{}, err
	}
	r := &reader{}
	o := r.object(v, "")
	if o == nil {
		return EditRequest{}, EditsInvalid(r.problems)
	}
	q := EditRequest{Tab: o.text("tab", true), TxID: o.text("txid", true), Undo: o.text("undo", false)}
	if base := o.place("base", math.MaxInt32); base != nil {
		q.Base = int64(*base)
	} else {
		o.problem("base", "required", `"base" is missing`)
	}
	if list, ok := o.take("ops"); ok {
		q.Ops = r.edits(list, "/ops")
	}
	o.rest()
	r.problems = flow.MergeProblems(r.problems, q.Problems())
	return q, EditsInvalid(r.problems)
}

// decodeEdits decodes JSON within the size limit. Its only errors are flow.Error, so that the
// response tells an editor what to change.
func decodeEdits(data []byte) (any, error) {
	if len(data) > MaxEditBytes {
		return nil, flow.Errorf(flow.CodeBodyTooLarge, "This edit is larger than %s. Make the change in smaller parts.", flow.Size(MaxEditBytes))
	}
	v, err := flow.DecodeJSON(data)
	if err != nil {
		return nil, EditsInvalid([]flow.Problem{err.(*flow.ProblemError).Problem})
	}
	return v, nil
}

// EditsInvalid returns the error for problems of edits; without problems it is nil. The
// pointers are relative to the request, not to the document.
func EditsInvalid(problems []flow.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	message := fmt.Sprintf("This edit cannot be applied; it has %s:", flow.Count(len(problems), "problem"))
	return &flow.Error{Code: CodeEditsInvalid, Message: message, Fields: problems}
}

// edits reads a list of edits. If there are more than MaxEdits, it reads none of them, to bound
// the time to apply them.
func (r *reader) edits(v any, at string) []Edit {
	list, isList := v.([]any)
	if !isList {
		r.problems = append(r.problems, flow.Problem{Pointer: at, Code: "wrong_type", Detail: "wanted a list of edits, got " + flow.TypeOf(v)})
		return nil
	}
	if len(list) > MaxEdits {
		r.problems = append(r.problems, flow.Problem{Pointer: at, Code: "too_many", Detail: fmt.Sprintf("at most %d edits at once, got %d", MaxEdits, len(list))})
		return nil
	}
	ops := make([]Edit, len(list))
	for i, v := range list {
		ops[i] = r.edit(v, at+flow.Pointer(i))
	}
	return ops
}

// editReaders read the members of each operation.
var editReaders = map[string]func(*reader, *object, *Edit){
	OpMove: (*reader).move, OpAdd: (*reader).add, OpRemove: (*reader).remove, OpConnect: (*reader).connect,
	OpDisconnect: (*reader).connect, OpSet: (*reader).set, OpPut: (*reader).put, OpGroup: (*reader).regroup, OpName: (*reader).rename,
}

// edit reads one edit. The members that an operation may have depend on its name, so
// an unknown operation has no further problems.
func (r *reader) edit(v any, at string) Edit {
	o := r.object(v, at)
	if o == nil {
		return Edit{}
	}
	e := Edit{Op: o.text("op", true)}
	read := editReaders[e.Op]
	if read == nil {
		if e.Op != "" {
			o.problem("op", "unknown", fmt.Sprintf("there is no operation %q", e.Op)+flow.Closest(e.Op, editReaders))
		}
		return e
	}
	read(r, o, &e)
	o.rest()
	return e
}

// move reads {"nodes": {"id": {"x", "y"} or null}}. Null removes the position, as for a
// node that was never placed; it is the inverse of placing such a node.
func (r *reader) move(o *object, e *Edit) {
	e.Places = map[string]*flow.Position{}
	v, ok := o.take("nodes")
	if !ok {
		o.problem("nodes", "required", `"nodes" is missing`)
		return
	}
	places := r.object(v, o.at+"/nodes")
	if places == nil {
		return
	}
	for _, id := range sorting.Keys(places.fields) {
		if places.fields[id] == nil {
			e.Places[id] = nil
		} else if p := r.object(places.fields[id], places.at+flow.Pointer(id)); p != nil {
			e.Places[id] = &flow.Position{X: p.number("x", -1e9, 1e9), Y: p.number("y", -1e9, 1e9)}
			p.node = id
			p.needs("x", "y")
			p.rest()
		}
	}
}

// needs reports members that are missing.
func (o *object) needs(names ...string) {
	for _, name := range names {
		if _, ok := o.fields[name]; !ok {
			o.problem(name, "required", fmt.Sprintf("%q is missing", name))
		}
	}
}

// add reads a node with its index among the nodes and its memberships in groups, which the
// inverse of a removal restores.
func (r *reader) add(o *object, e *Edit) {
	e.At = o.place("at", flow.MaxNodes)
	for i, v := range o.list("groups", false) {
		if m := r.object(v, o.at+flow.Pointer("groups", i)); m != nil {
			in := Membership{Group: m.text("id", true)}
			if at := m.place("at", flow.MaxDocumentBytes); at != nil {
				in.At = *at
			}
			m.rest()
			e.Groups = append(e.Groups, in)
		}
	}
	v, ok := o.take("node")
	if !ok {
		o.problem("node", "required", `"node" is missing`)
		return
	}
	n := r.node(v, o.at+"/node")
	e.New = &n
}

// remove reads the nodes to remove, and the edges removed with them if the edit has been applied
// before.
func (r *reader) remove(o *object, e *Edit) {
	e.Nodes = []string{}
	for i, v := range o.list("nodes", true) {
		id, isText := v.(string)
		if !isText {
			o.want("nodes"+flow.Pointer(i), "the ID of a node as text", v)
		}
		e.Nodes = append(e.Nodes, id)
	}
	for i, v := range o.list("edges", false) {
		e.Cut = append(e.Cut, r.edge(v, o.at+flow.Pointer("edges", i)))
	}
}

// connect reads the edge of a connect or a disconnect. At is its index among the edges of the
// port, whose order matters for lists; Place is its index among all edges.
func (r *reader) connect(o *object, e *Edit) {
	e.At, e.Place = o.place("at", flow.MaxEdges), o.place("place", flow.MaxEdges)
	v, ok := o.take("edge")
	if !ok {
		o.problem("edge", "required", `"edge" is missing`)
		return
	}
	e.Edge = r.edge(v, o.at+"/edge")
	ends := map[string]string{"from": e.Edge.From, "to": e.Edge.To}
	for _, side := range sorting.Keys(ends) {
		if node, port := flow.SplitPort(ends[side]); ends[side] != "" && (node == "" || port == "") {
			o.problem("edge/"+side, "invalid", fmt.Sprintf("%q names no port; write node.port", ends[side]))
		}
	}
}

// set reads a new value of one config field; without "value" the field is removed.
func (r *reader) set(o *object, e *Edit) {
	e.Node, e.Field = o.text("node", true), o.text("field", true)
	o.node = e.Node
	// In a document the value stands in a field of the config of a node in a list.
	o.value(e, flow.MaxJSONDepth-4)
}

// put reads a new value of a member other than the config, such as the label or the retry
// policy.
func (r *reader) put(o *object, e *Edit) {
	e.Node, e.Member = o.text("node", true), o.text("member", true)
	o.node = e.Node
	o.value(e, flow.MaxJSONDepth-3)
	if e.Member == "" {
		return
	}
	if !isMember(e.Member) {
		o.problem("member", "unknown", fmt.Sprintf("%q cannot be put; it is one of %s", e.Member, strings.Join(members, ", ")))
		return
	}
	_, problems := memberOf(e, o.at)
	r.problems = append(r.problems, problems...)
}

// value reads the value to write. Without one, the member is removed.
func (o *object) value(e *Edit, depth int) {
	v, ok := o.take("value")
	e.Value, e.Unset = v, !ok
	if nestsDeeper(v, depth) {
		o.problem("value", "too_deep", fmt.Sprintf("nested deeper than %d levels", depth))
	}
}

// regroup reads a group; without "group" the group is removed. The ID inside the group is
// optional, because the edit names it already.
func (r *reader) regroup(o *object, e *Edit) {
	e.ID, e.At = o.text("id", true), o.place("at", flow.MaxNodes)
	v, ok := o.take("group")
	if !ok {
		return
	}
	m, isObject := flow.AsMap(v)
	if _, named := m["id"]; isObject && !named {
		m = maps.Clone(m)
		m["id"], v = e.ID, m
	}
	g := r.group(v, o.at+"/group")
	e.Group = &g
	if isObject && g.ID != e.ID {
		o.problem("group/id", "invalid", "the ID of a group cannot change; remove the group and add another")
	}
	if len(g.Nodes) > flow.MaxNodes {
		o.problem("group/nodes", "too_many", fmt.Sprintf("at most %d nodes", flow.MaxNodes))
	}
}

// rename reads the name and the description of the flow. Missing members are not changed.
func (r *reader) rename(o *object, e *Edit) {
	if _, ok := o.fields["name"]; ok {
		name := o.label("name", true, 200)
		e.Name = &name
	}
	if _, ok := o.fields["description"]; ok {
		description := o.label("description", false, 10_000)
		e.Description = &description
	}
}

// place reads an optional whole number from 0 to most.
func (o *object) place(name string, most float64) *int {
	if _, ok := o.take(name); !ok {
		return nil
	}
	f := o.number(name, 0, most)
	if f != math.Trunc(f) {
		o.problem(name, "wrong_type", "wanted a whole number")
	}
	n := int(f)
	return &n
}

// nestsDeeper reports whether a value has more than a number of levels of lists and objects.
func nestsDeeper(v any, levels int) bool {
	deeper := func(item any) bool { return nestsDeeper(item, levels-1) }
	switch v := v.(type) {
	case *flow.Object, map[string]any:
		if levels == 0 {
			return true
		}
		for _, item := range value.Members(v) {
			if deeper(item) {
				return true
			}
		}
	case []any:
		return levels == 0 || slices.ContainsFunc(v, deeper)
	}
	return false
}

// nodeAt returns the ID of the node to which a JSON Pointer into the document belongs, or "".
func nodeAt(d *flow.Document, pointer string) string {
	tokens := strings.Split(pointer, "/")
	if len(tokens) < 3 {
		return ""
	}
	i, err := strconv.Atoi(tokens[2])
	switch {
	case err != nil || i < 0:
	case tokens[1] == "nodes" && i < len(d.Nodes):
		return d.Nodes[i].ID
	case tokens[1] == "edges" && i < len(d.Edges):
		id, _ := d.Edges[i].Target()
		return id
	}
	return ""
}
