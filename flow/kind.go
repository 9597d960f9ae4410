package flow

import (
	"context"
	"io"
	"strings"
	"time"

	"sluice/flow/position"
)

// Class determines how steps of a kind are executed and recorded.
type Class int

const (
	// Inline work takes microseconds and has no external effect. It runs in the goroutine of
	// the run and is recorded together with the next write.
	Inline Class = iota
	// Compute work takes time but has no external effect, so a repeat costs only time.
	Compute
	// Outside work leaves the process (a model, HTTP, a file). Its result is durably on disk
	// before its dependents start.
	Outside
)

// Role marks the kinds that form the interface of a flow.
type Role int

const (
	RoleNode   Role = iota
	RoleInput       // outputs a value of the inputs of the run
	RoleOutput      // its value is an output of the run
	RoleCanvas      // exists only on the canvas and never runs
)

// Kind declares a kind of nodes. The editor form, validation, JSON Schema, docs and
// `sluice kinds` are derived from it.
type Kind struct {
	Name    string // as in documents: http_request
	Title   string // as on the canvas: HTTP request
	Group   string // palette group
	Icon    string // lucide icon name
	Summary string // one line
	Doc     string // Markdown paragraphs for the reference
	Class   Class
	Role    Role
	Timeout time.Duration // default time limit of a step; zero means StepTimeout
	Fields  []Field
	Inputs  []Port // input ports that are not fields
	Outputs []Port
	// OutputsField names the field that lists output nodes by name. The node depends on them
	// and receives their values in In.Collected. An empty list means all.
	OutputsField string
	Example      Example
	// Sends describes where the node's credentials are sent; nil for kinds that
	// send none.
	Sends *Destination
	// DynamicSchema returns declarations that depend on the config of a node, such as the
	// inputs of a model. It must be pure and deterministic.
	DynamicSchema func(n *Node) DynamicSchema
	// Open is a prefix of input ports that are accepted without a declaration, because they
	// are known only when the node runs. Only kinds with a DynamicSchema have it.
	Open string
	// Check returns problems that the declaration cannot express. It must be pure. Pointers
	// are relative to the config of the node.
	Check func(n *Node) []Problem
	// Run executes a step. It must stop when ctx ends, and must return an *Error for
	// everything that users can fix.
	Run func(ctx context.Context, in *In) (Out, error)
	// Expand is set instead of Run by kinds whose steps consist of sub-steps. It returns what to do
	// next after some of them have ended. It must be pure: after a restart it is called again with the
	// recorded results, and must then decide the same. Outputs and an error end the step once all
	// of its sub-steps have ended.
	Expand func(in *In, so *Expansion) (Next, error)
	// Untrusted reports whether the outputs of a node have content from outside, whatever its inputs are.
	// Nil means that they have not.
	Untrusted func(n *Node) bool
	// Writes means that steps change something outside of the run. Kinds that can be tools say so in Tool.Effect.
	Writes bool
	// Edit returns the outputs of the sub-step NAME.edit, with which a rerun replaces the arguments of
	// the call NAME. Expand finds them in Expansion.Done.
	Edit func(e CallEdit) (outputs map[string]any, err error)
	// Remember returns the conversation of an expanding step, from its input and its ended sub-steps: the In.Memory of a
	// step of the same node in a run that continues this one, as JSON. Nil if there was none.
	Remember func(in *In, so *Expansion) (memory any, err error)
	// Tool declares how nodes of the kind serve as tools; nil if they cannot.
	Tool *ToolUse
	// Fetches reports whether a step downloads files, although its class is Inline. Tests take that for a request that reads.
	Fetches func(in *In) bool
	// Repeatable reports that steps mostly compute, although their class is Outside, and that a repeat
	// costs only time. Like those of the class Compute, they are stopped when the process ends.
	Repeatable bool
	// Reads reports that steps change nothing outside, so that a test of a flow may execute them. See also ToolUse.Effect.
	Reads bool
	// WaitsFor is what a run reports to wait for while a step of the kind waits.
	WaitsFor WaitsFor
	// Partial reports whether the outputs of a successful step are incomplete, so that a
	// rerun executes the step again. Nil means never.
	Partial func(outputs map[string]any) bool
	// Charge returns how a step with the config is charged. paid is false if it is free; a nil
	// Charge means that all steps are free. The engine checks budgets before paid steps.
	Charge func(config map[string]any) (c Charge, paid bool)
	// ChargeFor is Charge for a kind whose model is not in its config, such as that of a knowledge base. The engine calls it before each step.
	ChargeFor func(ctx context.Context, in *In) (c Charge, paid bool, err error)
	// Alternative returns the config, such as another model, with which a step continues after
	// the retries of n configs failed because a service was unavailable. It must be pure and
	// depend only on the typed config.
	Alternative func(config map[string]any, n int) (map[string]any, bool)
	// Cleanup ends the external work of a step that saved a state (see In.Save and
	// Suspension) and failed or was canceled, so that it stops costing money. In.State is the
	// saved state. ctx ends after ten seconds; the end of the step is recorded afterwards.
	Cleanup func(ctx context.Context, in *In) error
	// Internal kinds are only for documents that Sluice itself writes. They are refused in all others, and
	// absent from lists of kinds.
	Internal bool
	// Settles means that a rerun reuses the result of a sub-step only if later sub-steps have built on it: what a person
	// allowed in one run is not allowed in another.
	Settles bool
	// Crowded is set by Registry.For if the config of the node declares more than MaxPorts fields
	// or outputs. The rest is missing then.
	Crowded bool
}

// DynamicSchema is what the config of a node adds to the declaration of its kind.
type DynamicSchema struct {
	Fields []Field
	// Outputs are output ports. One with the name of a port of the kind overrides the type,
	// items and schema shown for that port, and whether it is optional.
	Outputs []Port
	Open    string // see Kind.Open
}

// Destination describes where a node sends its credentials, as far as its
// config determines it before a run.
type Destination struct {
	// Field is the config field that determines the destination. An edge into
	// it leaves the destination open. It is empty if no edge can change the
	// destination.
	Field string
	// Hosts returns the hosts in the form of ParseHost, or nil when the config
	// does not fix them.
	Hosts func(n *Node) []string
}

// FieldType is the type of a config field, which also determines its control in forms.
type FieldType string

const (
	FieldText      FieldType = "text"    // one line
	FieldArea      FieldType = "area"    // several lines
	FieldNumber    FieldType = "number"  // any number
	FieldInteger   FieldType = "integer" // a whole number
	FieldBoolean   FieldType = "boolean"
	FieldSelect    FieldType = "select" // one of Options
	FieldList      FieldType = "list"   // a list of scalars
	FieldMap       FieldType = "map"    // names to texts, such as headers
	FieldJSON      FieldType = "json"   // any JSON value
	FieldSecret    FieldType = "secret" // {"credential": "name"}, never a literal at rest
	FieldValueType FieldType = "type"   // a value type, such as the type of an input
	FieldFile      FieldType = "file"   // a file value; with Value any also a URL
	FieldModel     FieldType = "model"  // provider/model; see Task
	FieldFlow      FieldType = "flow"   // a flow of the workspace, by slug or ID
)

// Languages of code in fields.
const (
	SyntaxJavaScript = "javascript"
	SyntaxCEL        = "cel" // a condition over value
)

// Escape is how values are escaped in the template of a field.
type Escape = position.Format

// The ways of escaping.
const (
	EscapeNone = position.Plain
	EscapeURL  = position.URL      // percent-encoded
	EscapeJSON = position.JSON     // by position inside a JSON text
	EscapeForm = position.FormData // as a name or a value of application/x-www-form-urlencoded
)

// Field is one config field of a kind.
type Field struct {
	Name     string
	Title    string
	Help     string
	Type     FieldType
	Value    Type // the type of its input port; derived from Type when empty
	Template bool // adds an input port per {{name}}
	Escape   Escape
	EscapeOf func(*Node) Escape // overrides Escape for nodes whose config says how the text is sent
	Syntax   string             // language of code: SyntaxJavaScript or SyntaxCEL
	SyntaxOf func(*Node) string // overrides Syntax for nodes whose config says what the texts are
	NamedBy  string             // of a list: the list field that has a name for each item
	Typed    bool               // not a port: it can only be typed
	Required bool
	Unless   string // name of a field whose value makes this one optional
	Default  any
	Suggest  any         // default of the service: shown, but never sent
	Options  []string    // of a select
	Labels   []string    // what the editor calls the options, if not by their text
	Values   []any       // of a select whose values are not texts: one per option
	Task     string      // of a model: chat, embed, image, speech, transcribe, hosted
	Accept   []string    // of a file: media types such as image/*, or endings such as .csv
	Min, Max *float64    // bounds of a number, or of the number of characters or items
	More     bool        // shown under "More" in the editor
	Limit    bool        // bounds what a node may do: the editor shows the limits side by side, above "More"
	Secrets  SecretPlace // where the value may hold secrets; empty: nowhere, unless Type is FieldSecret
	Signs    bool        // of a secret: it signs and is never sent
	Scoped   bool        // says what a tool may reach, so it is typed or bound: a model never fills it
	Items    bool        // a list that is stored item by item outside the step, which shows only its length
}

// Example is a runnable use of a kind: config and port values in, outputs out.
type Example struct {
	Config  map[string]any
	Ports   map[string]any // values that arrive through edges
	Outputs map[string]any // nil if they depend on external services
}

// In is the input of an attempt of a step, with the functions that it may call.
type In struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	RunID       RunID
	Path, Node  string
	Tool        string // of a call of an agent: the node that is the tool
	Attempt     int
	Key         string         // execution key run_id:path, the same for all attempts
	Config      map[string]any // all fields: edges take precedence over typed values, and those over defaults
	Ports       map[string]any // values that arrived through edges; a list port holds []any
	Collected   *Object        // output values by name, for kinds with an OutputsField
	Tools       []BoundTool    // of an expanding step, in the order of its edges; without those that lack a bound value
	// Untrusted holds the names of the ports whose values have content from outside. Of a sub-step it holds "" if it
	// follows from such content.
	Untrusted map[string]bool
	// Enclosed holds the fields of an expanding step with such content, which is enclosed; see Enclose.
	Enclosed map[string]any
	Memory   any // of an expanding step in a run that continues another one; see Kind.Remember
	State    any // state that this step saved in this or an earlier attempt
	// Secret returns the credential that a secret value refers to, for use with a host. A
	// plain text that arrived through an edge is returned unchanged.
	Secret func(ctx context.Context, value any, host string) (string, error)
	// Access returns the credential for a provider: the one that ref names, or else the
	// default of the workspace, or else the one in the environment. Without one it returns
	// ErrNoAccess.
	Access func(ctx context.Context, provider string, ref any) (Access, error)
	// Boundary returns what encloses content from outside in requests of the node; see FillBoundary. It is the same in
	// reruns.
	Boundary func(ctx context.Context) (string, error)
	// Widened returns the tools of the run's flow that run flows which can do more than when the flow was published: by node, what
	// they do now. It is nil for none, and for drafts.
	Widened func(ctx context.Context) (map[string][]string, error)
	// Sessions are the connections that the steps of the run share on this worker; nil keeps none.
	Sessions *Sessions
	// TakeCall begins a call with a credential that may have limits. It returns a *DelayError,
	// which the kind must return, if the step must start again later. The call ends with the
	// attempt.
	TakeCall func(ctx context.Context, a Access) error
	// Price returns the price of a model (provider/model) in the workspace.
	Price func(ctx context.Context, model string) (p Price, known bool, err error)
	// Origin returns the creation time of the run and the seed of its random numbers. A rerun
	// has the origin of the run that it repeats, so that code is reproducible.
	Origin func(ctx context.Context) (Origin, error)
	// Clock is the clock that all instances share; nil means time.Now. See Now.
	Clock func() time.Time
	// Save persists the state of the step, such as the ID of external work that costs money.
	// Once it returns nil, the state is on disk; a worker that continues after a crash
	// receives it as In.State. Saving nil deletes it. See ErrNotSaved.
	Save func(ctx context.Context, state any) error
	// Emit streams text of the answer to subscribers of the run. It is not stored.
	Emit func(text string)
	// OpenFile opens the content of a file value. The caller must close it.
	OpenFile func(ctx context.Context, value any) (*File, io.ReadSeekCloser, error)
	// SaveFile stores content as a file of the run and returns its value. An empty MIME is
	// detected from the content.
	SaveFile func(ctx context.Context, name, mime string, content io.Reader) (map[string]any, error)
	// Failures counts failed attempts. Attempts that a crash ended do not count.
	Failures int
	// Timeout is the time limit typed in the node; zero without one.
	Timeout time.Duration
	// Retry is the retry policy of the node; nil without one.
	Retry *Retry
	// Budget is what the sub-steps of the step that this sub-step belongs to may cost together, with
	// everything below them; 0 means any amount.
	Budget NanoUSD
	// ReuseFrom is the ID of the run that this one repeats, if the step may reuse results of
	// it; otherwise empty.
	ReuseFrom RunID
	// Children starts runs of other flows.
	Children ChildRuns
	// FetchFile downloads a file, stores it with the run and returns its value. place
	// distinguishes the files of a step: a later attempt reuses the file of a place. Files
	// that accepts rejects are not stored.
	FetchFile func(ctx context.Context, place string, f RemoteFile, accepts func(*File) error) (map[string]any, error)
	// AskApproval asks people a question and returns the link to answer it. The step must then
	// suspend until expires; an answer wakes it earlier.
	AskApproval func(ctx context.Context, q Question, expires time.Time) (link string, err error)
	// TakeDecision returns the decision on the step's question, or nil while it is open.
	TakeDecision func(ctx context.Context) (*Decision, error)
}

// Fetcher downloads files. It returns an *Error for problems that users can fix.
type Fetcher interface {
	// FetchFile calls save with the name, media type and content of a file, unless accepts
	// rejects its name and type.
	FetchFile(ctx context.Context, f RemoteFile, accepts func(*File) error, save func(name, mime string, content io.Reader) error) error
}

// Origin determines the clock and the random numbers of code.
type Origin struct {
	Time time.Time
	Seed string // differs from step to step
}

// Now returns the current time of the clock that decides when Suspension.Until is due. Use it
// for all times in a saved state, because another machine may continue the step.
func (in *In) Now() time.Time {
	if in.Clock == nil {
		return time.Now()
	}
	return in.Clock()
}

// Text returns a config field as text.
func (in *In) Text(name string) string { return Text(in.Config[name]) }

// MarkUntrusted notes that the value of a port has content from outside.
func (in *In) MarkUntrusted(port string) {
	if in.Untrusted == nil {
		in.Untrusted = map[string]bool{}
	}
	in.Untrusted[port] = true
}

// Int returns a config field as a whole number.
func (in *In) Int(name string) int { f, _ := Float(in.Config[name]); return int(f) }

// Out is the result of an attempt. A port that is missing in Outputs has no value, so its
// branch is not taken.
type Out struct {
	Outputs map[string]any
	// Log is the console output of code, at most a few dozen KiB. It is also stored if the
	// step fails.
	Log string
	// Deliveries are sent once the result is on disk. A step that suspends may send them with
	// its first suspension, and must then send none with its end.
	Deliveries []NewDelivery
	Suspend    *Suspension
	Usage      Usage
	// Lost means that a paid call was sent and that its bill is unknown: no response came, or
	// it broke off or could not be read. Usage counts the step as unpriced.
	Lost bool
	// Begun means that an answer had begun before the step failed, so that no alternative
	// config is tried: the first answer is paid for already.
	Begun bool
	// Untrusted means that the outputs have content from outside.
	Untrusted bool
	// Recorded is set for outputs that a case run took from a recording.
	Recorded *Recorded
	// Unanswered means that a request was sent and no answer came, so that it is unknown whether it took
	// effect.
	Unanswered bool
	// Answer describes the answer of a model; the engine sets it.
	Answer *Answer
}

// Suspension ends an attempt and starts the next one later. A long wait needs no worker.
type Suspension struct {
	Until time.Time
	State any // In.State of the next attempt
	// Event means that an event may wake the step before Until. The run then always waits
	// without a worker, even for a short time.
	Event bool
}

// CodeField returns the field with the code that steps of the kind run, or nil.
func (k *Kind) CodeField() *Field {
	for i := range k.Fields {
		if k.Fields[i].Syntax == SyntaxJavaScript {
			return &k.Fields[i]
		}
	}
	return nil
}

// ModelField returns the field with the model that steps of the kind call, or nil.
func (k *Kind) ModelField() *Field {
	for i := range k.Fields {
		if k.Fields[i].Type == FieldModel {
			return &k.Fields[i]
		}
	}
	return nil
}

// LoopField is the field that names the inputs of a child flow that get one item of a list each
// time.
const LoopField = "over"

// StartsRuns reports whether steps of the kind start child runs.
func (k *Kind) StartsRuns() bool { return k.WaitsFor == WaitsForChildren }

// AcceptsPort reports whether the kind accepts input ports that it does not declare.
func (k *Kind) AcceptsPort(port string) bool {
	return k.Open != "" && strings.HasPrefix(port, k.Open) && len(port) > len(k.Open)
}

// Field returns the declared field of a name, or nil.
func (k *Kind) Field(name string) *Field {
	for i := range k.Fields {
		if k.Fields[i].Name == name {
			return &k.Fields[i]
		}
	}
	return nil
}

// PortType returns the value type of the input port of the field.
func (f *Field) PortType() Type {
	if f.Value != "" {
		return f.Value
	}
	switch f.Type {
	case FieldSelect:
		if f.Values != nil {
			return TypeAny
		}
		return TypeText
	case FieldFile:
		return TypeFile
	case FieldText, FieldArea, FieldModel, FieldFlow:
		return TypeText
	case FieldNumber, FieldInteger:
		return TypeNumber
	case FieldBoolean:
		return TypeBoolean
	case FieldList:
		return TypeList
	}
	return TypeAny
}
