package flow

// An expanding kind, such as an agent, does its work in sub-steps that are not known in advance.
// Its Expand decides which: it is called when the step starts and whenever a sub-step has ended. The
// engine executes sub-steps like the steps of nodes, with their time limits, retries, waits,
// reservations and saved states, and records each in a row of its own.

// Expansion is the progress of an expanding step.
type Expansion struct {
	Done map[string]*SubResult // ended sub-steps, by name
}

// SubResult is how a sub-step ended. Its values are shared and must not be changed.
type SubResult struct {
	State   StepState
	Input   map[string]any // as it was recorded
	Outputs map[string]any // nil unless it succeeded
	Error   *Error         // nil if it succeeded
	Usage   Usage
}

// SubStep is a step inside another one.
type SubStep struct {
	// Name follows the path of the expanding step and a dot. It must say which work is
	// meant, never when it happens: "3" for the third turn of an agent, "3.2" for the second
	// call of that turn. Names sort in the order in which the work depends on each other, where
	// numbers count as numbers.
	Name   string
	Kind   *Kind
	Config map[string]any // all fields
	Ports  map[string]any
	// Input is recorded as the input of the sub-step. Nil records that of the kind.
	Input map[string]any
	// InputHash decides whether a rerun may reuse the result. Empty is the hash of Config and
	// Ports. A sub-step that builds on earlier ones can include their hashes instead of their
	// content, so that each costs only what is new.
	InputHash string
	Retry     *Retry
	TimeoutS  float64 // seconds; 0 is the default of the kind
	// Credentials are the names of the credentials that the sub-step may use.
	Credentials []string
}

// Next is what an expanding step does next. It either waits for its sub-steps or has ended.
type Next struct {
	// Steps are all sub-steps that should have begun and have not ended, also beside an error. Those
	// that were named before continue.
	Steps []SubStep
	// Outputs end the step once all sub-steps have ended; nil if it continues.
	Outputs map[string]any
}

// MaxSubSteps is the number of sub-steps that the steps of one run may have together.
const MaxSubSteps = 5000
