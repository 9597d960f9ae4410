package editor

import (
	"slices"

	"sluice/flow"
	"sluice/flow/document"
	editorview "sluice/views/editor"
)

// members reads the settings that a node has outside its config.
func (f *nodeForm) members() {
	n := f.node
	f.text("label", n.Label)
	f.text("color", n.Color)
	if f.values.Has("label") && f.kind.Role != flow.RoleCanvas && f.values.Has("disabled") != n.Disabled {
		f.put("disabled", true, n.Disabled)
	}
	f.retry()
	f.timeout()
	f.onError()
}

// put adds an edit of a member.
func (f *nodeForm) put(member string, value any, unset bool) {
	f.edits = append(f.edits, document.Edit{Op: document.OpPut, Node: f.node.ID, Member: member, Value: value, Unset: unset})
}

// text reads a member that is a text.
func (f *nodeForm) text(member, now string) {
	if typed := f.values.Get(member); f.values.Has(member) && typed != now {
		f.put(member, typed, typed == "")
	}
}

// number reads a member that is a number. An empty field is 0, which means
// unset.
func (f *nodeForm) number(name string, as flow.FieldType) (n float64) {
	field := flow.Field{Type: as}
	value, err := document.ParseForm(&field, document.FormValue{As: as, Texts: f.values[name]})
	if err != nil {
		f.errors[name] = editorview.Sentence(err.Error())
		return 0
	}
	n, _ = flow.Float(value)
	return n
}

// checkRange adds an error if a number is out of range.
func (f *nodeForm) checkRange(name string, n, low, high float64) {
	if f.errors[name] == "" && (n < low || n > high) {
		f.errors[name] = "Enter a number from " + flow.Text(flow.Number(low)) + " to " + flow.Text(flow.Number(high)) + "."
	}
}

// retry reads the retries of a node.
func (f *nodeForm) retry() {
	if !f.values.Has("retry.attempts") {
		return
	}
	attempts, backoff := f.number("retry.attempts", flow.FieldInteger), f.number("retry.backoff_s", flow.FieldNumber)
	now := flow.Retry{}
	if f.node.Retry != nil {
		now = *f.node.Retry
	}
	if attempts != 0 {
		f.checkRange("retry.attempts", attempts, 1, flow.MaxRetryAttempts)
	}
	f.checkRange("retry.backoff_s", backoff, 0, flow.MaxBackoffS)
	if attempts == 0 && backoff != 0 && f.errors["retry.attempts"] == "" {
		f.errors["retry.attempts"] = "Enter the number of attempts, 2 or more."
	}
	if float64(now.Attempts) == attempts && now.BackoffS == backoff {
		return
	}
	retry := map[string]any{"attempts": flow.Number(attempts)}
	if backoff != 0 {
		retry["backoff_s"] = flow.Number(backoff)
	}
	f.put("retry", retry, attempts == 0)
}

// timeout reads the time limit of a node.
func (f *nodeForm) timeout() {
	if !f.values.Has("timeout_s") {
		return
	}
	timeout := f.number("timeout_s", flow.FieldNumber)
	f.checkRange("timeout_s", timeout, 0, flow.MaxNodeTimeoutS)
	if timeout != f.node.TimeoutS {
		f.put("timeout_s", flow.Number(timeout), timeout == 0)
	}
}

// onError reads how the run handles a failure of the node.
func (f *nodeForm) onError() {
	switch f.values.Get("on_error") {
	case editorview.OnErrorFail:
		if f.node.OnError != nil {
			f.put("on_error", nil, true)
		}
	case editorview.OnErrorRoute:
		if f.node.OnError == nil || !f.node.OnError.Route {
			f.put("on_error", editorview.OnErrorRoute, false)
		}
	case editorview.OnErrorContinue:
		f.readContinue()
	}
}

// readContinue reads the values that the ports get if the node fails. Values
// for ports that no longer exist are kept, because the node may get them back.
func (f *nodeForm) readContinue() {
	now := map[string]any{}
	was := f.node.OnError != nil && !f.node.OnError.Route
	if was {
		now = f.node.OnError.Continue
	}
	values, changed := map[string]any{}, !was
	for _, p := range f.kind.Outputs {
		field := editorview.PortField(p)
		typed, sent := f.read(&field)
		if !sent || sameValue(&field, typed, document.FormOf(&field, now[p.Name])) {
			if v, given := now[p.Name]; given {
				values[p.Name] = v
			}
			continue
		}
		f.forms[field.Name] = typed
		value, err := document.ParseForm(&field, typed)
		if err != nil {
			f.errors[field.Name] = editorview.Sentence(err.Error())
		} else if value != nil {
			values[p.Name] = value
		}
		changed = true
	}
	gone := func(name string) bool {
		return !slices.ContainsFunc(f.kind.Outputs, func(p flow.Port) bool { return p.Name == name })
	}
	for name, v := range now {
		if gone(name) {
			values[name] = v // the port may come back
		}
	}
	if changed {
		f.put("on_error", map[string]any{"continue": values}, false)
	}
}
