package flow

import (
	"cmp"
	"strconv"
	"strings"
)

// An expanding kind, such as an agent, does its work in sub-steps that are not known in advance.
// Its Expand decides which: it is called when the step starts and whenever a sub-step has ended. The
// engine executes sub-steps like the steps of nodes, with their time limits, retries, waits,
// reservations and saved states, and records each in a row of its own.

// Expansion is the progress of an expanding step.
type Expansion struct {
	Done map[string]*SubResult // ended sub-steps, by name
	// Memo is what Expand derived from ended sub-steps, so that it need not do so again after each
	// end. It is lost when another worker continues the run.
	Memo any
}

// SubResult is how a sub-step ended. Its values are shared and must not be changed.
type SubResult struct {
	State   StepState
	Input   map[string]any // as it was recorded
	Outputs map[string]any // nil unless it succeeded
	Error   *Error         // nil if it succeeded
	Usage   Usage
	// Untrusted reports that the outputs, or the error, have content from outside.
	Untrusted bool
}

// SubStep is a step inside another one.
type SubStep struct {
	// Name follows the path of the expanding step and a dot. It must say which work is
	// meant, never when it happens: "3" for the third turn of an agent, "3.2" for the second
	// call of that turn. Names sort in the order in which the work depends on each other, where
	// numbers count as numbers.
	Name string
	// Tool is the ID of the tool of the step whose call it is. Its node determines the kind, the
	// credentials, the retries and the time limit. Empty: the members below do.
	Tool   string
	Kind   *Kind
	Config map[string]any // all fields
	Ports  map[string]any
	// Input is recorded as the input of the sub-step. Nil records that of the kind.
	Input map[string]any
	// InputHash decides whether a rerun may reuse the result. Empty is the hash of Config and
	// Ports. A sub-step that builds on earlier ones can include their hashes instead of their
	// content, so that each costs only what is new.
	InputHash string
	// Once means that the sub-step must not begin again if its worker dies: it then fails with
	// CodeOutcomeUnknown, as it does if a request was sent and no answer came. It has no retries.
	Once bool
	// Effect is that of the call of a tool; empty is that of its kind.
	Effect Effect
	// Untrusted means that the input follows from content from outside.
	Untrusted bool
	Retry     *Retry
	TimeoutS  float64 // seconds; 0 is the default of the kind
	// Budget is what all sub-steps of the step may cost together, with everything below them; 0 means any
	// amount. A sub-step that exceeds it fails with CodeAgentLimit.
	Budget NanoUSD
	// Credentials are the names of the credentials that the sub-step may use, besides those in the
	// config of its node.
	Credentials []string
}

// Next is what an expanding step does next. It either waits for its sub-steps or has ended.
type Next struct {
	// Steps are all sub-steps that should have begun and have not ended, also beside an error. Those
	// that were named before continue.
	Steps []SubStep
	// Outputs end the step once all sub-steps have ended; nil if it continues.
	Outputs map[string]any
	// Untrusted means that the outputs have content from outside.
	Untrusted bool
}

// MaxSubSteps is the number of sub-steps that the steps of one run may have together.
const MaxSubSteps = 5000

// SubSeparator separates the path of an expanding step from the name of a sub-step. Node IDs do not
// contain it.
const SubSeparator = "."

// EditSuffix ends the path of a sub-step that records how a person changed the arguments of a call.
const EditSuffix = SubSeparator + "edit"

// EditKind is the kind of these sub-steps. They exist from the start of a rerun.
const EditKind = "agent_edit"

// CallEdit changes the arguments of a call that a sub-step made.
type CallEdit struct {
	Outputs   map[string]any // of the sub-step that asked for the call
	Number    int            // of the call among those of that sub-step, from 1
	Tool      *Node
	Schema    *Object // of the arguments
	Arguments *Object
}

// CallOf returns the sub-step that asked for a call, and the number of the call, from the path of the
// call: "agent.3" and 2 for "agent.3.2".
func CallOf(path string) (asked string, number int, ok bool) {
	i := strings.LastIndex(path, SubSeparator)
	if i < 0 || !IsSubStep(path[:i]) || strings.Count(path, SubSeparator) != 2 {
		return "", 0, false
	}
	number, err := strconv.Atoi(path[i+1:])
	return path[:i], number, err == nil && number > 0
}

// IsSubStep reports whether the path of a step is that of a sub-step.
func IsSubStep(path string) bool { return strings.Contains(path, SubSeparator) }

// CompareSubSteps compares the names or paths of sub-steps part by part. Numbers at the beginning of a part
// count as numbers.
func CompareSubSteps(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, SubSeparator)
		y, b, _ = strings.Cut(b, SubSeparator)
		xn, xs := leadingNumber(x)
		yn, ys := leadingNumber(y)
		if c := cmp.Or(cmp.Compare(xn, yn), cmp.Compare(xs, ys)); c != 0 {
			return c
		}
	}
	return 0
}

// leadingNumber splits a text into the number at its beginning, or -1, and the rest.
func leadingNumber(s string) (n int, rest string) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return -1, s
	}
	return n, s[end:]
}
