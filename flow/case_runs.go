package flow

import (
	"context"
	"time"
)

// A test of a flow runs it for cases. Such a run, and every run below it, is a case run: its steps that leave the process
// get recorded results, stubs and answers instead of calling services, as far as its mode says. Package cases describes
// cases and tests.

// CaseMode says what the steps of case runs may do outside of the process.
type CaseMode string

// The modes of tests.
const (
	CaseReplay CaseMode = "replay" // nothing: results are recorded, or missing
	CaseFill   CaseMode = "fill"   // calls models and reads what is not recorded, and records the results
	CaseLive   CaseMode = "live"   // calls models and reads; writes only in nodes that the test allows
)

// CaseModes are all modes.
var CaseModes = []CaseMode{CaseReplay, CaseFill, CaseLive}

// CaseRun says which test a run belongs to, and which case.
type CaseRun struct {
	Test      string `json:"test"` // ID
	Candidate int    `json:"candidate"`
	// Item counts the cases and their repeats. It is -1 in the template of the child runs of a test, whose items are the cases.
	Item int `json:"item"`
	// Check is the number of the group of checks that the run answers, from 1; 0 for the run of a case.
	Check int `json:"check,omitempty"`
	// Below reports that another flow was called by the flow under test.
	Below bool `json:"below,omitempty"`
}

// CaseSetting is what the steps of a case run need.
type CaseSetting struct {
	Mode     CaseMode
	Allow    []string // IDs of nodes that may change something, in CaseLive; none in flows below
	FlowID   FlowID   // whose recordings are used
	Case     string   // ID
	Repeat   int      // of the case, from 0
	Now      time.Time
	Seed     string                // begins the seeds of random numbers; empty: the case and the repeat
	Answers  map[string]CaseAnswer // by the ID of an approval, or of a tool that needs one
	Stubs    map[string]CaseStub   // by node ID; nil for flows below
	Replaced map[FlowID]string     // hashes of documents that flows below run instead of their live versions
	Secrets  map[string]string     // by secret input: the name of a credential; "" without one
	Memory   map[string]any        // conversations that agents continue, by node ID; nil for flows below
}

// Allows reports whether a node may change something outside.
func (s *CaseSetting) Allows(node string) bool {
	if s.Mode != CaseLive {
		return false
	}
	for _, allowed := range s.Allow {
		if allowed == node {
			return true
		}
	}
	return false
}

// CaseAnswer is the decision of a person in a case.
type CaseAnswer struct {
	Decision Outcome `json:"decision"`
	Values   *Object `json:"values,omitempty"` // edited ones, or the arguments of a call
	Comment  string  `json:"comment,omitempty"`
	By       string  `json:"by,omitempty"`
}

// CaseStub is a result that replaces that of a node.
type CaseStub struct {
	Outputs *Object `json:"outputs,omitempty"`
	Error   *Error  `json:"error,omitempty"`
}

// Recording is the result of a step outside, which case runs reuse.
type Recording struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	NodeHash    string
	InputHash   string // with files by content, and secrets by name
	Repeat      int
	Node        string // ID, to say what differs
	Input       map[string]any
	Outputs     map[string]any
	Untrusted   bool
	Usage       Usage
	Duration    time.Duration
	RunID       RunID
	CreatedAt   time.Time
}

// RecordingStore keeps recordings.
type RecordingStore interface {
	// FindRecording returns a recording, or nil.
	FindRecording(ctx context.Context, ws WorkspaceID, flowID FlowID, nodeHash, inputHash string, repeat int) (*Recording, error)
	// FindLastRecording returns the newest recording of a node, or nil.
	FindLastRecording(ctx context.Context, ws WorkspaceID, flowID FlowID, node string) (*Recording, error)
	// SaveRecording stores a recording unless there is one for its hashes and repeat. It returns the one that is stored.
	SaveRecording(ctx context.Context, r *Recording) (*Recording, error)
}

// Recorded is the use of a recorded result, which is not billed again.
type Recorded struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostNanoUSD  NanoUSD `json:"cost_nano_usd,omitempty"`
	Micros       int64   `json:"us,omitempty"`
}
