package flow

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Class says how a kind's work is carried out and recorded.
type Class int

const (
	// Inline work takes microseconds and has no outside effect: it runs on the
	// engine's own goroutine and is recorded together with the next write.
	Inline Class = iota
	// Compute work takes time but has no outside effect: a repeat costs
	// nothing but the time.
	Compute
	// Outside work reaches out of the process (a model, HTTP, a file): its
	// result is on disk, synced, before anything that depends on it starts.
	Outside
)

// Role marks the kinds that the flow's own interface is made of.
type Role int

const (
	RoleNode   Role = iota
	RoleInput       // takes a value of the run's inputs
	RoleOutput      // its value is an output of the run
	RoleCanvas      // lives on the canvas only and never runs
)

// Kind declares what a node is. Editor form, validation, JSON Schema, docs and
// `sluice kinds` all derive from it.
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
	// OutputsField names the field that lists output nodes by name; the node then
	// depends on them and is given their values (In.Collected). Empty list
	// means all.
	OutputsField string
	Example      Example
	// Sends describes where the node's credentials are sent; nil for kinds that
	// send none.
	Sends *Destination
	// DynamicSchema declares what depends on a node's own config, such as the inputs of
	// the model that it names. It is pure and deterministic.
	DynamicSchema func(n *Node) DynamicSchema
	// Open is set on a shaped kind: input ports that begin with it are taken as
	// they are, because what there is can only be known when the node runs.
	Open string
	// Check finds what the declaration alone cannot: it is pure. Pointers of
	// the problems are relative to the node's config.
	Check func(n *Node) []Problem
	// Run does the node's job. It must obey ctx, and returns an *Error for
	// everything a person can act on.
	Run func(ctx context.Context, in *In) (Out, error)
	// WaitsFor is what a run is said to wait for while it waits for a step of the kind.
	WaitsFor WaitsFor
	// Partial reports that the outputs of a step that succeeded are incomplete, so
	// that a rerun carries the step out again. Nil means that they never are.
	Partial func(outputs map[string]any) bool
	// Charge tells what a step of the config, as typed or as it runs, may cost
	// money for; nil means that none ever does. No such step begins once a budget
	// of its run is used up.
	Charge func(config map[string]any) (c Charge, paid bool)
	// Alternative returns the config with which a step continues after its retries ended n
	// times because what it called was unavailable, such as another model. It is pure and
	// depends only on what is typed.
	Alternative func(config map[string]any, n int) (map[string]any, bool)
	// Cleanup tells the outside that a step which saved a State (see In.Save and
	// Suspension) failed or was canceled and is not gone on with, so that nothing
	// keeps costing money. In.State is what was saved. It has ten seconds; the
	// end of the step is recorded after it.
	Cleanup func(ctx context.Context, in *In) error
}

// DynamicSchema is what a node's own config adds to the declaration of its kind.
type DynamicSchema struct {
	Fields []Field
	// Outputs are ports of the node. A port that its kind also has sets the
	// type, the items and the schema shown for that port, and whether it is optional.
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

// FieldType is what a config field holds.
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
	FieldModel     FieldType = "model"  // provider/model; Task says what for
	FieldFlow      FieldType = "flow"   // a flow of the workspace, by slug or ID
)

// Escape is how template values are written into a field.
type Escape int

const (
	EscapeNone Escape = iota
	EscapeURL         // percent-encoded
	EscapeJSON        // by position inside a JSON text
)

// Field is one config field of a kind.
type Field struct {
	Name     string
	Title    string
	Help     string
	Type     FieldType
	Value    Type // the type of its input port; derived from Type when empty
	Template bool // grows an input port per {{name}}
	Escape   Escape
	Syntax   string // of code that is typed: javascript
	Typed    bool   // never a port: it can only be typed
	Required bool
	Unless   string // a field that stands in for a required one
	Default  any
	Suggest  any         // what the other side takes when nothing is set: shown, but never sent
	Options  []string    // of a select
	Values   []any       // of a select whose values are not texts: one per option
	Task     string      // of a model: chat, embed, image, speech, transcribe, hosted
	Accept   []string    // of a file: media types such as image/*, or endings such as .csv
	Min, Max *float64    // bounds of a number, of the characters or of the items
	More     bool        // shown under "More" in the editor
	Secrets  SecretPlace // where the value may hold secrets; empty: nowhere, unless Type is FieldSecret
	Signs    bool        // of a secret: it signs and is never sent itself
	Items    bool        // a list that is stored elsewhere, item by item: a step shows its length
}

// Example is a runnable use of a kind: config and port values in, outputs out.
type Example struct {
	Config  map[string]any
	Ports   map[string]any // values that arrive by edges
	Outputs map[string]any // nil when the output depends on the outside world
}

// In is what a node is given to do its job.
type In struct {
	WorkspaceID   WorkspaceID
	FlowID, RunID string
	Path, Node    string
	Attempt       int
	Key           string         // execution key run_id:path, the same over retries
	Config        map[string]any // every field: edge over typed value over default, templates filled in
	Ports         map[string]any // what arrived by edges; a list port holds []any
	Inputs        map[string]any // the run's inputs
	Collected     map[string]any // output values by name, for kinds that collect
	State         any            // what this step saved earlier, in this attempt or one before
	// Secret reads the credential that a secret value refers to, for use
	// against host; a plain text that came by an edge is returned as it is.
	Secret func(ctx context.Context, value any, host string) (string, error)
	// Access finds the credential for a provider: the one that ref names, or else
	// the workspace's own for that provider, or else the environment's. Without
	// any it is ErrNoAccess.
	Access func(ctx context.Context, provider string, ref any) (Access, error)
	// TakeCall waits for the turn of a call with a credential that has limits: it returns a
	// *DelayError, which the kind returns, if the step must begin again later. The call
	// ends when the attempt does.
	TakeCall func(ctx context.Context, a Access) error
	// Price is what the workspace pays for a model, written provider/model.
	Price func(ctx context.Context, model string) (p Price, known bool, err error)
	// Origin says when the run was created and what its random numbers follow. A rerun has
	// the origin of the run that it repeats, so that code gives the same.
	Origin func(ctx context.Context) (Origin, error)
	// Clock is the time that all instances share; nil means time.Now. See Now.
	Clock func() time.Time
	// Save records what the step must not forget, such as the ID of something
	// that is being paid for. When it returns nil, that is on disk, and In.State
	// of the worker that continues after a crash. Saving nil deletes it.
	Save func(ctx context.Context, state any) error
	// Emit passes on text of the answer as it comes. It is shown to those who
	// watch and kept nowhere.
	Emit func(text string)
	// OpenFile opens the content of a file value. It must be closed.
	OpenFile func(ctx context.Context, value any) (*File, io.ReadSeekCloser, error)
	// SaveFile keeps content as a file that belongs to the run, and returns its
	// value. An empty MIME is found out from the content.
	SaveFile func(ctx context.Context, name, mime string, content io.Reader) (map[string]any, error)
	// Failures counts the attempts that failed; cuts by a crash do not count.
	Failures int
	// Timeout is the time limit that is typed in the node; zero without one.
	Timeout time.Duration
	// ReuseFrom is the run that this one repeats, if the step may take over results
	// of it; empty otherwise.
	ReuseFrom string
	// Children starts runs of other flows.
	Children ChildRuns
	// FetchFile stores the file at an address with the run and returns its value.
	// place tells the files of a step apart: what was fetched for a place is not
	// fetched again by a later attempt. Files that accepts rejects are not stored.
	FetchFile func(ctx context.Context, place string, f RemoteFile, accepts func(*File) error) (map[string]any, error)
	// AskApproval asks people a question and returns the link that answers it. The step
	// then suspends itself until expires; an answer wakes it earlier.
	AskApproval func(ctx context.Context, q Question, expires time.Time) (link string, err error)
	// TakeDecision returns the decision on the step's question, or nil while it is open.
	TakeDecision func(ctx context.Context) (*Decision, error)
}

// Fetcher gets files by their address. Errors for the person who gave the address
// are *Error.
type Fetcher interface {
	// FetchFile calls save with the name, the media type and the content of a
	// file, unless accepts rejects its name and type.
	FetchFile(ctx context.Context, f RemoteFile, accepts func(*File) error, save func(name, mime string, content io.Reader) error) error
}

// Origin is what the clock and the random numbers of code depend on.
type Origin struct {
	Time time.Time
	Seed string // differs from step to step
}

// Now returns the time by which Suspension.Until is due. Moments that a step
// saves are told by it as well, because another machine may go on with the step.
func (in *In) Now() time.Time {
	if in.Clock == nil {
		return time.Now()
	}
	return in.Clock()
}

// Text is a config field as text.
func (in *In) Text(name string) string { return Text(in.Config[name]) }

// Int is a config field as a whole number.
func (in *In) Int(name string) int { f, _ := Float(in.Config[name]); return int(f) }

// Out is what a node gives back; the engine alone writes it down. An output
// port that is absent from Outputs was not taken.
type Out struct {
	Outputs map[string]any
	// Log is what the node's code wrote to its console, at most a few dozen KiB. It is
	// also kept when the step fails.
	Log string
	// Deliveries are sent once the result is on disk. A step that suspends itself may
	// send some with its first suspension, and then none with its end.
	Deliveries []NewDelivery
	Suspend    *Suspension
	Usage      Usage
}

// Suspension asks to be run again later, holding no worker until then.
type Suspension struct {
	Until time.Time
	State any // handed back as In.State
	// Event says that something else may wake the step before Until. The run then
	// always waits without a worker, however short the time.
	Event bool
}

// Registry holds the kinds. It is filled at start and read-only after.
type Registry struct{ kinds map[string]*Kind }

// NewRegistry makes a registry of kinds; a bad declaration panics at start.
func NewRegistry(kinds ...Kind) *Registry {
	r := &Registry{kinds: map[string]*Kind{}}
	for _, k := range kinds {
		r.add(k)
	}
	return r
}

// kindName matches the names of kinds, which are part of documents and never change.
var kindName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// add checks and registers a kind. Declarations are code, so a mistake in one panics at
// start instead of failing in some flow.
func (r *Registry) add(k Kind) {
	if !kindName.MatchString(k.Name) || k.Title == "" || k.Summary == "" || k.Group == "" {
		panic(fmt.Sprintf("flow: kind %q lacks a name, title, group or summary", k.Name))
	}
	if _, twice := r.kinds[k.Name]; twice {
		panic(fmt.Sprintf("flow: kind %q is declared twice", k.Name))
	}
	if k.Run == nil && k.Role != RoleCanvas {
		panic(fmt.Sprintf("flow: kind %q has no Run", k.Name))
	}
	r.kinds[k.Name] = &k
}

// Find returns the kind of a name, or nil.
func (r *Registry) Find(name string) *Kind { return r.kinds[name] }

// ByName returns all kinds by name. The map must not be modified.
func (r *Registry) ByName() map[string]*Kind { return r.kinds }

// For returns the kind of a node with everything that the node's own config
// adds to it, or nil.
func (r *Registry) For(n *Node) *Kind {
	k := r.kinds[n.Kind]
	if k == nil || k.DynamicSchema == nil {
		return k
	}
	shape, own := k.DynamicSchema(n), *k
	own.Fields, own.Outputs, own.Open = slices.Clip(k.Fields), slices.Clip(k.Outputs), shape.Open
	for _, f := range shape.Fields {
		if own.Field(f.Name) == nil {
			own.Fields = append(own.Fields, f)
		}
	}
	copied := false
	for _, p := range shape.Outputs {
		i := slices.IndexFunc(own.Outputs, func(o Port) bool { return o.Name == p.Name })
		switch {
		case i >= 0 && i < len(k.Outputs):
			if !copied {
				own.Outputs, copied = slices.Clone(own.Outputs), true // the kind's own are shared
			}
			o := &own.Outputs[i]
			o.Shown, o.Items, o.Schema, o.Optional = p.Type, p.Items, p.Schema, p.Optional
		case i < 0 && p.Name != ErrorPort:
			own.Outputs = append(own.Outputs, p)
		}
	}
	return &own
}

// CodeField returns the field with the code that steps of the kind run, or nil.
func (k *Kind) CodeField() *Field {
	for i := range k.Fields {
		if k.Fields[i].Syntax != "" {
			return &k.Fields[i]
		}
	}
	return nil
}

// StartsRuns reports whether steps of the kind start child runs.
func (k *Kind) StartsRuns() bool { return k.WaitsFor == WaitsForChildren }

// TakesAny reports whether the kind accepts input ports that it does not declare.
func (k *Kind) TakesAny(port string) bool {
	return k.Open != "" && strings.HasPrefix(port, k.Open) && len(port) > len(k.Open)
}

// List returns all kinds by name.
func (r *Registry) List() []*Kind {
	list := make([]*Kind, 0, len(r.kinds))
	for _, name := range slices.Sorted(maps.Keys(r.kinds)) {
		list = append(list, r.kinds[name])
	}
	return list
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

// PortType is the value type that the field's input port takes.
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
