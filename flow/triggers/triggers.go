package triggers

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
)

// Limits of triggers.
const (
	MaxPerFlow      = 100
	MaxPerWorkspace = 1000
	// PerStranger and StrangerGap are the limits of workspaces that anyone may create: how many triggers they have, and how far apart
	// planned times are.
	PerStranger = 20
	StrangerGap = 5 * time.Minute
	// EventLife is how long events are kept. Of a trigger, the newest 10,000 that started or were ignored are kept, and as
	// many others.
	EventLife = 30 * 24 * time.Hour
	MaxEvents = 10_000
	// MaxCatchUp bounds the missed times that start after an outage.
	MaxCatchUp = 100
	MaxName    = 64
)

// DefaultMaxLate is how late a planned time may start, unless a schedule says otherwise.
const DefaultMaxLate = 6 * time.Hour

// Limits are the limits of a workspace.
type Limits struct {
	Most int64         // triggers
	Gap  time.Duration // between planned times of a schedule
}

// LimitsOf returns the limits of a workspace. openSignup reports that anyone may create one; the default workspace is the operator's.
func LimitsOf(ws flow.WorkspaceID, openSignup bool) Limits {
	if openSignup && ws != flow.DefaultWorkspace {
		return Limits{PerStranger, StrangerGap}
	}
	return Limits{MaxPerWorkspace, 0}
}

// gapsChecked is how many planned times TooOften looks at.
const gapsChecked = 500

// TooOften reports whether two planned times after now are closer together than the limits allow.
func (l Limits) TooOften(s *schedule.Schedule, now time.Time) bool {
	if l.Gap == 0 {
		return false
	}
	last := s.Next(now)
	for range gapsChecked {
		next := s.Next(last)
		if next.IsZero() {
			return false
		}
		if next.Sub(last) < l.Gap {
			return true
		}
		last = next
	}
	return false
}

// Kind is a kind of trigger.
type Kind string

// Schedule is the kind of triggers that start at planned times.
const Schedule Kind = "schedule"

// Overlap says what happens if the last run of a schedule is in progress at the next planned time.
type Overlap string

// Ways to deal with overlaps.
const (
	OverlapSkip    Overlap = "skip"
	OverlapQueue   Overlap = "queue"   // the newest time waits
	OverlapReplace Overlap = "replace" // cancel the run
	OverlapAllow   Overlap = "allow"
)

// CatchUp says which missed times of a schedule start after an outage.
type CatchUp string

// Ways to catch up.
const (
	CatchUpOne  CatchUp = "one" // the latest
	CatchUpNone CatchUp = "none"
	CatchUpAll  CatchUp = "all" // at most MaxCatchUp, one after the other
)

// Reasons why a trigger is off.
const (
	ReasonPaused   = "paused"
	ReasonFailed   = "failed"   // pause_after
	ReasonArchived = "archived" // with its flow
	ReasonInvalid  = "invalid"  // its configuration cannot be read any longer
)

// State is the state of an event.
type State string

// States of events. A waiting one becomes another.
const (
	Started  State = "started"
	Skipped  State = "skipped"  // the last run was in progress
	Missed   State = "missed"   // Sluice did not run
	Ignored  State = "ignored"  // a filter
	Rejected State = "rejected" // the start was refused
	Waiting  State = "waiting"  // for the last run, or for another try
)

// States lists the states of events.
var States = []State{Started, Skipped, Missed, Ignored, Rejected, Waiting}

// Codes of events that are not codes of errors.
const (
	CodeOverlap  flow.Code = "overlap"
	CodeReplaced flow.Code = "replaced" // a newer time waits instead
	CodeOutage   flow.Code = "outage"
	CodeLate     flow.Code = "late"
	CodeChanged  flow.Code = "changed" // the trigger was changed or paused
)

// Config is the configuration of a schedule, as in the API and in files.
type Config struct {
	schedule.Spec
	Inputs     *flow.Object `json:"inputs,omitempty"`
	Test       *Test        `json:"test,omitempty"` // it is started instead of a run
	Overlap    Overlap      `json:"overlap,omitempty"`
	CatchUp    CatchUp      `json:"catch_up,omitempty"`
	MaxLate    string       `json:"max_late,omitempty"`
	PauseAfter int64        `json:"pause_after,omitempty"` // failed runs in a row; 0: never
}

// Trigger starts runs of the live version of a flow.
type Trigger struct {
	ID          string
	WorkspaceID flow.WorkspaceID
	FlowID      flow.FlowID
	Name        string // unique in the flow
	Kind        Kind
	Config      Config
	Unreadable  error // the stored configuration cannot be read
	On          bool
	Reason      string // why it is off
	HookState
	flow.TriggerTimes
	MissedUntil time.Time // times up to this one never start
	LastRunID   flow.RunID
	Rev         int64  // counts changes by people
	Source      string // where it was applied from
	MadeBy      string
	CreatedAt   time.Time
	ChangedAt   time.Time
}

// Event is one time at which a trigger acted, or should have acted.
type Event struct {
	TriggerID   string
	Key         string // the planned time of a schedule, in UTC
	WorkspaceID flow.WorkspaceID
	FlowID      flow.FlowID
	Position    string // orders events
	CreatedAt   time.Time
	State       State
	RunID       flow.RunID // that was started, or that was in progress
	Code        flow.Code
	Detail      string
	Repeats     int64  // how often the sender sent it again
	Request     string // Received as JSON, or ""
}

// KeyForm is the format of the key of a planned time.
const KeyForm = "2006-01-02T15:04:05Z"

// KeyOf returns the key of the event of a planned time.
func KeyOf(at time.Time) string { return at.UTC().Format(KeyForm) }

// ScheduledAt returns the planned time of an event, or the zero time.
func (e *Event) ScheduledAt() time.Time {
	at, _ := time.Parse(KeyForm, e.Key)
	return at
}

// Ended reports whether a trigger is on but has no more planned times.
func (t *Trigger) Ended() bool { return t.On && t.Next.IsZero() && t.Waiting.IsZero() }

// Event returns an event of a planned time.
func (t *Trigger) Event(at time.Time, state State, code flow.Code, detail string) Event {
	return Event{TriggerID: t.ID, Key: KeyOf(at), WorkspaceID: t.WorkspaceID, FlowID: t.FlowID, State: state, Code: code, Detail: detail}
}

// delay returns how long after a planned time the trigger starts. It is the same each time, and differs between triggers, so
// that many schedules of one time do not start at once.
func (t *Trigger) delay() time.Duration {
	if t.Config.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.ID))
	return time.Duration(h.Sum64()%uint64(t.Config.Jitter+1)) * time.Second
}

// DueAt returns when an instance decides a planned time.
func (t *Trigger) DueAt(planned time.Time) time.Time {
	if planned.IsZero() {
		return planned
	}
	return planned.Add(t.delay())
}

// maxLate returns how late a planned time may start.
func (c *Config) maxLate() time.Duration {
	if d, problem := schedule.ParseInterval(c.MaxLate); c.MaxLate != "" && problem == "" {
		return d
	}
	return DefaultMaxLate
}

// overlap returns what happens when runs overlap.
func (c *Config) overlap() Overlap {
	if c.Overlap == "" {
		return OverlapSkip
	}
	return c.Overlap
}

// catchUp returns what happens after an outage.
func (c *Config) catchUp() CatchUp {
	if c.CatchUp == "" {
		return CatchUpOne
	}
	return c.CatchUp
}

// OverlapPolicy returns the effective overlap policy.
func (t *Trigger) OverlapPolicy() Overlap { return t.Config.overlap() }

// Schedule parses the schedule. timezone is that of the workspace.
func (c *Config) Schedule(timezone string) (*schedule.Schedule, error) {
	if timezone == "" {
		timezone = "UTC"
	}
	s, problems := schedule.Parse(c.Spec, timezone)
	if len(problems) == 0 {
		return s, nil
	}
	e := &flow.Error{Code: flow.CodeScheduleInvalid, Message: fmt.Sprintf("The schedule has %d problems; see errors.", len(problems))}
	for _, p := range problems {
		e.Fields = append(e.Fields, flow.Problem{Pointer: flow.Pointer(p.Field), Code: "invalid", Detail: p.Detail})
	}
	if len(problems) == 1 {
		e.Message = fmt.Sprintf("The schedule has a problem in %s: %s.", problems[0].Field, problems[0].Detail)
	}
	return s, e
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// ValidName reports whether a trigger may have a name.
func ValidName(name string) bool {
	return len(name) <= MaxName && validName.MatchString(name) && !strings.HasPrefix(name, flow.PrefixTrigger)
}

// Check returns the problems of a configuration that are not those of its schedule. check returns an error for a wrong
// expression over variables.
func (c *Config) Check(check func(source string, names ...string) error) (problems []flow.Problem) {
	fail := func(field, detail string) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(field), Code: "invalid", Detail: detail})
	}
	switch c.overlap() {
	case OverlapSkip, OverlapQueue, OverlapReplace, OverlapAllow:
	default:
		fail("overlap", "must be skip, queue, replace or allow")
	}
	switch c.catchUp() {
	case CatchUpOne, CatchUpNone, CatchUpAll:
	default:
		fail("catch_up", "must be one, none or all")
	}
	if _, problem := schedule.ParseInterval(c.MaxLate); c.MaxLate != "" && problem != "" {
		fail("max_late", problem)
	}
	if c.PauseAfter < 0 || c.PauseAfter > 1000 {
		fail("pause_after", "must be between 1 and 1000, or 0 for never")
	}
	if c.Test != nil {
		if c.Inputs.Len() > 0 {
			fail("test", "a schedule has either inputs for its runs, or a test")
		}
		for _, p := range c.Test.check() {
			p.Pointer = "/test" + p.Pointer
			problems = append(problems, p)
		}
	}
	for _, name := range c.Inputs.Names() {
		if source, ok := expressionOf(c.Inputs.Get(name)); ok {
			if err := check(source, variables...); err != nil {
				problems = append(problems, flow.Problem{Pointer: flow.Pointer("inputs", name, "cel"), Code: "invalid", Detail: strings.TrimSuffix(flow.AsError(err).Message, ".")})
			}
		}
	}
	return problems
}

// variables are the names that expressions of inputs may use.
var variables = []string{"scheduled_at", "previous_at", "local"}

// expressionOf returns the expression of an input. An input with one is an object whose only member is cel.
func expressionOf(v any) (source string, ok bool) {
	o, ok := v.(*flow.Object)
	if !ok || o.Len() != 1 {
		return "", false
	}
	source, ok = o.Get("cel").(string)
	return source, ok
}

// Values returns the inputs of a run at a planned time. eval evaluates an expression over variables.
func (t *Trigger) Values(ctx context.Context, s *schedule.Schedule, at time.Time, eval func(ctx context.Context, source string, variables map[string]any) (any, error)) (*flow.Object, error) {
	values := &flow.Object{}
	var vars map[string]any
	for _, name := range t.Config.Inputs.Names() {
		v := t.Config.Inputs.Get(name)
		source, computed := expressionOf(v)
		if !computed {
			values.Set(name, v)
			continue
		}
		if vars == nil {
			vars = t.variables(s, at)
		}
		v, err := eval(ctx, source, vars)
		if err != nil {
			return nil, &flow.Error{Code: flow.CodeExpressionFailed, Message: fmt.Sprintf("The input %s: %s", name, flow.AsError(err).Message)}
		}
		values.Set(name, v)
	}
	return values, nil
}

// variables returns the values of the variables at a planned time.
func (t *Trigger) variables(s *schedule.Schedule, at time.Time) map[string]any {
	local := at.In(s.Location())
	vars := map[string]any{
		"scheduled_at": at.UTC().Format(time.RFC3339), "previous_at": nil,
		"local": map[string]any{"date": local.Format(time.DateOnly), "time": local.Format("15:04"), "weekday": local.Weekday().String()},
	}
	if !t.Decided.IsZero() && t.Decided.Before(at) {
		vars["previous_at"] = t.Decided.UTC().Format(time.RFC3339)
	}
	return vars
}

// longestLook bounds the search for planned times that have passed.
const longestLook = 7 * 24 * time.Hour

// LastPlanned returns the latest planned time after one time until now that is not later than the schedule allows, or the zero time.
func (t *Trigger) LastPlanned(s *schedule.Schedule, after, now time.Time) (last time.Time) {
	if earliest := now.Add(-min(t.Config.maxLate(), longestLook)); after.Before(earliest) {
		after = earliest
	}
	for at := s.Next(after); !at.IsZero() && !at.After(now); at = s.Next(at) {
		last = at
	}
	return last
}
