package cases

import (
	"strconv"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// FormPage is the form of a case.
type FormPage struct {
	FlowID, Flow string
	LiveVersion  int64
	ID           string // "" for a new case
	Title        string
	Name, Tags   string
	Notes        string
	Repeat, Pass string
	Now          string   // time of code in the run
	FromRun      string   // ID of the run that it is made from
	Unrecorded   []string // nodes whose results cannot be recorded
	Inputs       []InputField
	Gone         []string // inputs that the flow no longer has
	Checks       []CheckRow
	Outputs      []components.Option // of the flow
	Expected     []ValueField
	Answers      []AnswerField
	Stubs        []StubField
	Errors       components.Errors
	Problems     []string // that belong to no field
}

// InputField is the field of an input. A secret one names a credential.
type InputField struct {
	components.RunField
	Credentials []components.Option // of a secret input; nil for others
}

// CheckRow is a check in the form.
type CheckRow struct {
	Output, Kind, Value string
	Min, Model, Votes   string // of checks with a score, and of judges
	Against, Watch      bool
	Error               string
}

// ValueField is a value by the name of an output.
type ValueField struct{ Name, Value, Error string }

// AnswerField is what a person answers in the case.
type AnswerField struct{ Node, Label, Decision, Values, Error string }

// StubField replaces the result of a node.
type StubField struct{ Node, Label, Mode, Value, Error string }

// KindJSON is the kind of a row that is a check as JSON, with members that the form has no field for.
const KindJSON = "json"

// CheckKinds are the kinds of checks in the form. The first is an empty row.
var CheckKinds = []components.Option{
	{Value: "", Label: "Choose…"}, {Value: "equals", Label: "is"}, {Value: "one_of", Label: "is one of"}, {Value: "contains", Label: "contains"}, {Value: "not_contains", Label: "doesn’t contain"}, {Value: "matches", Label: "matches"},
	{Value: "schema", Label: "fits JSON Schema"}, {Value: "expected", Label: "is as expected"}, {Value: "status", Label: "run ends"}, {Value: "steps", Label: "steps end"}, {Value: "sends", Label: "webhook sends"},
	{Value: "finds", Label: "search finds"}, {Value: "limits", Label: "at most"}, {Value: "expression", Label: "expression is true"}, {Value: "similar", Label: "means the same as"}, {Value: "judge", Label: "a model judges"}, {Value: "flow", Label: "a flow checks"}, {Value: KindJSON, Label: "JSON"},
}

// kindHelp says what to write for each kind.
var kindHelp = [][2]string{
	{"is", "The value, such as refund, 5 or {\"a\": 1}. Write \"5\" for the text 5."}, {"is one of", "Values, one a line."}, {"contains, doesn’t contain", "Texts, one a line."}, {"matches", "A regular expression (RE2)."},
	{"is as expected", "Nothing: the value is below, under Expected outputs. Without an output, all of them."}, {"run ends", "succeeded, failed, or failed http_failed."}, {"steps end", "Node and state, one a line: refund: skipped."},
	{"webhook sends", "Bodies by node as JSON: {\"hook\": {\"answer\": \"yes\"}}. null if it sends nothing."}, {"at most", "usd, ms and tokens, one a line: usd: 0.01."}, {"expression is true", "CEL over inputs, outputs, expected, steps and run."},
	{"means the same as", "A text. Empty: the expected output. Without a model, the built-in one compares, which knows English."}, {"a model judges", "A rubric: The answer is polite."}, {"a flow checks", "The slug of a flow with the output pass and, if it likes, score and reason."},
	{"JSON", "A whole check as in the file, with members such as ignore and within."},
}

// votes are how often a judge is asked.
var votes = []components.Option{{Value: "", Label: "1"}, {Value: "3", Label: "3"}, {Value: "5", Label: "5"}, {Value: "7", Label: "7"}, {Value: "9", Label: "9"}}

// decisions are the answers of a person.
var decisions = []components.Option{{Value: "", Label: "No answer"}, {Value: "approved", Label: "Approve"}, {Value: "rejected", Label: "Reject"}, {Value: "expired", Label: "Let it expire"}}

// stubModes say what a node gives in a case.
var stubModes = []components.Option{{Value: "", Label: "Its own result"}, {Value: "outputs", Label: "These outputs"}, {Value: "error", Label: "An error"}}

// action returns where the form is sent.
func (f FormPage) action() templ.SafeURL {
	if f.ID == "" {
		return templ.SafeURL(NewPath(f.FlowID))
	}
	return caseURL(f.FlowID, f.ID)
}

// heading returns the title of the page.
func (f FormPage) heading() string {
	switch {
	case f.ID != "":
		return f.Title
	case f.FromRun != "":
		return "Save as test case"
	}
	return "New case"
}

// field returns the name of a part of a row.
func field(kind string, i int, part string) string { return kind + "." + strconv.Itoa(i) + "." + part }

// answered reports whether a person answers something, so that the answers are shown.
func (f FormPage) answered() bool { return len(f.Answers) > 0 }

// stubbed reports whether a node has a stub.
func (f FormPage) stubbed() bool {
	for _, s := range f.Stubs {
		if s.Mode != "" || s.Error != "" {
			return true
		}
	}
	return false
}

// expecting reports whether there are expected outputs.
func (f FormPage) expecting() bool {
	for _, v := range f.Expected {
		if v.Value != "" || v.Error != "" {
			return true
		}
	}
	return false
}

// more reports whether the last settings are used.
func (f FormPage) more() bool {
	return f.Repeat != "" || f.Pass != "" || f.Now != "" || f.Notes != "" || f.Errors["repeat"]+f.Errors["pass"]+f.Errors["now"] != ""
}
