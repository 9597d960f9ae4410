package cases

import (
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/wording"
	view "sluice/views/cases"
	"sluice/views/components"
)

// rowOf returns a check as a row of the form. A check that needs more than the row has is shown as JSON.
func rowOf(c *cases.Check) view.CheckRow {
	row := view.CheckRow{Output: c.Output, Kind: c.Kind, Watch: c.Watch}
	switch c.Kind {
	case cases.Equals:
		row.Value = valueText(c.Value)
	case cases.OneOf:
		items, _ := c.Value.([]any)
		row.Value = lines(items, valueText)
	case cases.Contains, cases.NotContains:
		items, isList := c.Value.([]any)
		if !isList {
			items = []any{c.Value}
		}
		row.Value = lines(items, flow.Text)
	case cases.Similar:
		if c.Value != true {
			row.Value = flow.Text(c.Value)
		}
	case cases.Matches, cases.ExprCheck, cases.Judge, cases.FlowCheck:
		row.Value = flow.Text(c.Value)
	case cases.Status:
		row.Value = strings.TrimSpace(flow.Text(c.Value) + " " + c.Code)
	case cases.StepsCheck, cases.LimitsCheck, cases.FindsCheck:
		o, _ := flow.AsObject(c.Value)
		var list []string
		for name, v := range o.All() {
			list = append(list, name+": "+flow.Text(v))
		}
		row.Value = strings.Join(list, "\n")
	case cases.SchemaCheck, cases.Sends:
		row.Value = string(flow.EncodeJSON(c.Value))
	}
	if row.Model, row.Votes, row.Against = c.Model, number(c.Votes), c.Against != ""; c.HasMin {
		row.Min = flow.Text(flow.Number(c.Min))
	}
	whole := c.Object()
	if again, err := checkOf(&row); err == nil && flow.EqualValues(again, whole) {
		return row
	}
	return view.CheckRow{Kind: view.KindJSON, Value: string(flow.EncodeJSON(whole))}
}

// checkOf returns the JSON of a row, or nil for an empty one.
func checkOf(row *view.CheckRow) (*flow.Object, error) {
	text := strings.TrimSpace(row.Value)
	o := &flow.Object{}
	if row.Output != "" {
		o.Set("output", row.Output)
	}
	switch row.Kind {
	case "":
		if text != "" {
			return nil, flow.Errorf(flow.CodeInputInvalid, "Choose a check.")
		}
		return nil, nil
	case view.KindJSON:
		v, err := flow.DecodeJSON([]byte(text))
		whole, ok := flow.AsObject(v)
		if err != nil || !ok {
			return nil, flow.Errorf(flow.CodeInputInvalid, "Write a check as JSON, such as {\"output\": \"label\", \"equals\": \"refund\"}.")
		}
		return whole, nil
	case cases.Equals:
		o.Set(row.Kind, textValue(row.Value))
	case cases.Expected:
		o.Set(row.Kind, true)
	case cases.OneOf:
		var values []any
		for _, line := range filledLines(text) {
			values = append(values, textValue(line))
		}
		o.Set(row.Kind, values)
	case cases.Contains, cases.NotContains:
		list := filledLines(text)
		if len(list) == 1 {
			o.Set(row.Kind, list[0])
			break
		}
		var values []any
		for _, line := range list {
			values = append(values, line)
		}
		o.Set(row.Kind, values)
	case cases.Status:
		state, code, _ := strings.Cut(text, " ")
		o.Set(row.Kind, strings.TrimSuffix(state, ":"))
		if code = strings.TrimSpace(code); code != "" {
			o.Set("code", code)
		}
	case cases.StepsCheck, cases.LimitsCheck, cases.FindsCheck:
		members := &flow.Object{}
		for _, line := range filledLines(text) {
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, flow.Errorf(flow.CodeInputInvalid, "Write “%s: …”, one a line.", line)
			}
			v := any(strings.TrimSpace(value))
			if row.Kind == cases.LimitsCheck {
				v = textValue(strings.TrimPrefix(strings.TrimSpace(value), "$"))
			}
			if row.Kind == cases.FindsCheck && strings.TrimSpace(name) == "top" {
				v = textValue(strings.TrimSpace(value))
			}
			members.Set(strings.TrimSpace(name), v)
		}
		o.Set(row.Kind, members)
	case cases.SchemaCheck, cases.Sends:
		v, err := flow.DecodeJSON([]byte(text))
		if err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "This is not JSON: %s.", flow.AsError(err).Message)
		}
		o.Set(row.Kind, v)
	case cases.Similar:
		if o.Set(row.Kind, true); text != "" {
			o.Set(row.Kind, text)
		}
	default:
		o.Set(row.Kind, text)
	}
	if err := setScore(o, row); err != nil {
		return nil, err
	}
	if row.Watch {
		o.Set("watch", true)
	}
	return o, nil
}

// setScore sets the members of a check with a score. Fields that do not belong to its kind are hidden, so they do not count.
func setScore(o *flow.Object, row *view.CheckRow) error {
	switch row.Kind {
	case cases.Similar, cases.FlowCheck, cases.Judge, cases.ExprCheck:
	default:
		return nil
	}
	if text := strings.TrimSpace(row.Min); text != "" {
		v, err := flow.DecodeJSON([]byte(text))
		if n, ok := flow.Float(v); err != nil || !ok || n < 0 || n > 1 {
			return flow.Errorf(flow.CodeInputInvalid, "Enter the least score as a number from 0 to 1, such as 0.8.")
		}
		o.Set("min", v)
	}
	if model := strings.TrimSpace(row.Model); model != "" && (row.Kind == cases.Similar || row.Kind == cases.Judge) {
		o.Set("model", model)
	}
	if row.Kind != cases.Judge {
		return nil
	}
	if n, err := strconv.Atoi(row.Votes); err == nil {
		o.Set("votes", flow.Number(n))
	}
	if row.Against {
		o.Set("against", cases.AgainstBaseline)
	}
	return nil
}

func filledLines(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func lines(items []any, text func(any) string) string {
	list := make([]string, len(items))
	for i, v := range items {
		list[i] = text(v)
	}
	return strings.Join(list, "\n")
}

// textValue returns the value that a person typed: JSON if it is, otherwise the text itself.
func textValue(text string) any {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if v, err := flow.DecodeJSON([]byte(strings.TrimSpace(text))); err == nil {
		return v
	}
	return text
}

// valueText returns a value as people type it, so that textValue returns it again.
func valueText(v any) string {
	if s, ok := v.(string); ok && textValue(s) == any(s) {
		return s
	}
	return string(flow.EncodeJSON(v))
}

// shownValue is how many characters of a value a sentence has.
const shownValue = 120

// subject returns what a check is about.
func subject(c *cases.Check) string {
	if c.Output != "" {
		return c.Output
	}
	return "run"
}

// sentence says what a check wants, such as "is billing".
func sentence(c *cases.Check) string {
	value := wording.Fit(valueText(c.Value), shownValue)
	list := func(v any) string {
		items, isList := v.([]any)
		if !isList {
			items = []any{v}
		}
		return wording.Fit(strings.Join(strings.Split(lines(items, func(v any) string { return "“" + flow.Text(v) + "”" }), "\n"), ", "), shownValue)
	}
	if c.Name != "" {
		return c.Name
	}
	switch c.Kind {
	case cases.Equals:
		return "is " + value
	case cases.OneOf:
		return "is one of " + list(c.Value)
	case cases.Contains:
		return "contains " + list(c.Value)
	case cases.NotContains:
		return "doesn’t contain " + list(c.Value)
	case cases.Matches:
		return "matches " + value
	case cases.SchemaCheck:
		return "fits its JSON Schema"
	case cases.Expected:
		return "is as expected"
	case cases.Status:
		return strings.TrimSpace(flow.Text(c.Value) + " " + c.Code)
	case cases.StepsCheck, cases.Sends:
		return strings.ReplaceAll(c.Kind, "_", " ") + " " + value
	case cases.LimitsCheck:
		return limitText(c)
	case cases.ExprCheck:
		return value
	case cases.Similar:
		if c.Value == true {
			return "means the same as expected"
		}
		return "means the same as " + value
	case cases.Judge:
		return c.Model + " says “" + value + "”"
	case cases.FlowCheck:
		return "is right for the flow " + value
	}
	return strings.TrimSpace(strings.ReplaceAll(c.Kind, "_", " ") + " " + value)
}

// limitText says what a run may cost and take.
func limitText(c *cases.Check) string {
	o, _ := flow.AsObject(c.Value)
	var parts []string
	for name, v := range o.All() {
		switch name {
		case "usd":
			parts = append(parts, "costs at most $"+flow.Text(v))
		case "ms":
			parts = append(parts, "takes at most "+flow.Text(v)+" ms")
		default:
			parts = append(parts, "uses at most "+flow.Text(v)+" "+name)
		}
	}
	return strings.Join(parts, ", ")
}

// results returns the checks of a case with what a verdict says about them. Without a verdict they have no state.
func results(f *cases.File, c *cases.Case, v *cases.Verdict) (list []view.CheckResult) {
	checks := slices.Concat(f.Defaults.Checks, c.Checks)
	if v == nil || len(v.Checks) == 0 {
		for i := range checks {
			list = append(list, view.CheckResult{Subject: subject(&checks[i]), Text: sentence(&checks[i]), Watch: checks[i].Watch})
		}
		return list
	}
	used, labels := make([]bool, len(checks)), cases.Labels(checks)
	for i := range v.Checks {
		o := &v.Checks[i]
		r := view.CheckResult{Subject: "run", Text: o.Check, Reason: wording.Sentence(o.Reason), State: string(o.State), Watch: o.Watch}
		if o.Score > 0 && o.Score < 1 {
			r.Score = components.Rounded(flow.Number(o.Score))
		}
		if o.Kind == cases.Status {
			r.Text = "succeeds"
		}
		for at := range checks {
			if k := &checks[at]; !used[at] && k.Kind == o.Kind && (labels[at] == o.Check || k.Label() == o.Check) {
				used[at] = true
				r.Subject, r.Text = subject(k), sentence(k)
				break
			}
		}
		list = append(list, r)
	}
	return list
}
