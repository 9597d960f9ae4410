package editor

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/flow/wording"
	editorview "sluice/views/editor"
)

// readMembers adds edits for the members of a node, which are its settings outside
// the config.
func (f *nodeForm) readMembers() {
	n := f.node
	f.readText("label", n.Label)
	f.readText("color", n.Color)
	if f.values.Has("label") && f.kind.Role != flow.RoleCanvas && f.values.Has("disabled") != n.Disabled {
		f.putMember("disabled", true, n.Disabled)
	}
	f.readRetry()
	f.readTimeout()
	f.readOnError()
	f.readTool()
}

// readTool adds an edit for the setting of a tool if it differs from the draft. The inspector's script
// reads the same controls.
func (f *nodeForm) readTool() {
	if !f.values.Has("tool.description") {
		return
	}
	var now flow.Tool
	if f.node.Tool != nil {
		now = *f.node.Tool
	}
	now.Description = strings.ReplaceAll(f.values.Get("tool.description"), "\r\n", "\n")
	if f.values.Has("tool.name") {
		now.Name, now.Effect, now.OnError = f.values.Get("tool.name"), flow.Effect(f.values.Get("tool.effect")), f.values.Get("tool.on_error")
		now.Approval, now.Editable = strings.TrimSpace(f.values.Get("tool.approval")), namesIn(f.values.Get("tool.editable"))
		calls := f.readNumber("tool.max_calls", flow.FieldInteger)
		f.checkRange("tool.max_calls", calls, 0, flow.MaxToolCalls)
		now.MaxCalls, now.Params = int(calls), f.toolParams(now.Params)
	}
	v, err := flow.DecodeJSON(flow.EncodeJSON(now))
	if err != nil {
		f.errors["tool.description"] = wording.Sentence(err.Error())
		return
	}
	unset := value.Len(v) == 0
	if old, isSet := document.NodeMember(f.node, "tool"); isSet == unset || isSet && !flow.EqualValues(old, v) {
		f.putMember("tool", v, unset)
	}
}

// namesIn returns the names in a text, separated by commas.
func namesIn(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// toolParams returns the parameters of a tool with their typed descriptions.
func (f *nodeForm) toolParams(list []flow.ToolParam) []flow.ToolParam {
	list = slices.Clone(list)
	for _, name := range sorting.Keys(f.values) {
		port, is := strings.CutPrefix(name, "tool.param.")
		if !is {
			continue
		}
		i := slices.IndexFunc(list, func(p flow.ToolParam) bool { return p.Port == port })
		if i < 0 {
			list, i = append(list, flow.ToolParam{Port: port}), len(list)
		}
		if list[i].Description = f.values.Get(name); list[i].Description == "" && list[i].Schema == nil {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// putMember adds an edit of a member.
func (f *nodeForm) putMember(member string, value any, unset bool) {
	f.edits = append(f.edits, document.Edit{Op: document.OpPut, Node: f.node.ID, Member: member, Value: value, Unset: unset})
}

// readText adds an edit for a text member if it differs from the draft.
func (f *nodeForm) readText(member, current string) {
	if typed := f.values.Get(member); f.values.Has(member) && typed != current {
		f.putMember(member, typed, typed == "")
	}
}

// readNumber parses a number, or records an error. An empty field is 0, which
// means unset.
func (f *nodeForm) readNumber(name string, as flow.FieldType) (n float64) {
	field := flow.Field{Type: as}
	value, err := document.ParseForm(&field, document.FormValue{As: as, Texts: f.values[name]})
	if err != nil {
		f.errors[name] = wording.Sentence(err.Error())
		return 0
	}
	n, _ = flow.Float(value)
	return n
}

// checkRange records an error if a number is out of range, bounds included.
func (f *nodeForm) checkRange(name string, n, low, high float64) {
	if f.errors[name] == "" && (n < low || n > high) {
		f.errors[name] = "Enter a number from " + flow.Text(flow.Number(low)) + " to " + flow.Text(flow.Number(high)) + "."
	}
}

// readRetry adds an edit for the retry policy if it differs from the draft.
func (f *nodeForm) readRetry() {
	if !f.values.Has("retry.attempts") {
		return
	}
	attempts, backoff := f.readNumber("retry.attempts", flow.FieldInteger), f.readNumber("retry.backoff_s", flow.FieldNumber)
	current := flow.Retry{}
	if f.node.Retry != nil {
		current = *f.node.Retry
	}
	if attempts != 0 {
		f.checkRange("retry.attempts", attempts, 1, flow.MaxRetryAttempts)
	}
	f.checkRange("retry.backoff_s", backoff, 0, flow.MaxBackoffS)
	if attempts == 0 && backoff != 0 && f.errors["retry.attempts"] == "" {
		f.errors["retry.attempts"] = "Enter the number of attempts, 2 or more."
	}
	if float64(current.Attempts) == attempts && current.BackoffS == backoff {
		return
	}
	retry := map[string]any{"attempts": flow.Number(attempts)}
	if backoff != 0 {
		retry["backoff_s"] = flow.Number(backoff)
	}
	f.putMember("retry", retry, attempts == 0)
}

// readTimeout adds an edit for the time limit if it differs from the draft.
func (f *nodeForm) readTimeout() {
	if !f.values.Has("timeout_s") {
		return
	}
	timeout := f.readNumber("timeout_s", flow.FieldNumber)
	f.checkRange("timeout_s", timeout, 0, flow.MaxNodeTimeoutS)
	if timeout != f.node.TimeoutS {
		f.putMember("timeout_s", flow.Number(timeout), timeout == 0)
	}
}

// readOnError adds an edit for the error handling if it differs from the draft.
func (f *nodeForm) readOnError() {
	switch f.values.Get("on_error") {
	case editorview.OnErrorFail:
		if f.node.OnError != nil {
			f.putMember("on_error", nil, true)
		}
	case editorview.OnErrorRoute:
		if f.node.OnError == nil || !f.node.OnError.Route {
			f.putMember("on_error", editorview.OnErrorRoute, false)
		}
	case editorview.OnErrorContinue:
		f.readContinue()
	}
}

// readContinue reads the values that the output ports get if the node fails. It
// keeps values of ports that no longer exist, because the node may get the ports
// back.
func (f *nodeForm) readContinue() {
	current, isSet := map[string]any{}, f.node.OnError != nil && !f.node.OnError.Route
	if isSet {
		current = f.node.OnError.Continue
	}
	values, changed := map[string]any{}, !isSet
	for _, p := range f.kind.Outputs {
		field := editorview.PortField(p)
		typed, sent := f.formValue(&field)
		if !sent || sameValue(&field, typed, document.FormOf(&field, current[p.Name])) {
			if v, given := current[p.Name]; given {
				values[p.Name] = v
			}
			continue
		}
		f.typed[field.Name] = typed
		value, err := document.ParseForm(&field, typed)
		if err != nil {
			f.errors[field.Name] = wording.Sentence(err.Error())
		} else if value != nil {
			values[p.Name] = value
		}
		changed = true
	}
	for name, v := range current {
		if !slices.ContainsFunc(f.kind.Outputs, func(p flow.Port) bool { return p.Name == name }) {
			values[name] = v
		}
	}
	if changed {
		f.putMember("on_error", map[string]any{"continue": values}, false)
	}
}
