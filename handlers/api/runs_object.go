package api

import (
	"time"

	"sluice/flow"
)

// stamp is a time in RFC 3339, UTC, with milliseconds.
type stamp time.Time

// MarshalJSON implements json.Marshaler.
func (t stamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(make([]byte, 0, 26), `"`+flow.TimeForm+`"`), nil
}

// stampOrNull is a stamp whose zero value is null.
type stampOrNull time.Time

// MarshalJSON implements json.Marshaler.
func (t stampOrNull) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return stamp(t).MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler: the command line reads responses into this type.
func (t *stampOrNull) UnmarshalJSON(data []byte) error {
	return (*time.Time)(t).UnmarshalJSON(data) // leaves null as the zero time
}

// runObject is the JSON of a run. The doc tags of this and other JSON types are their
// descriptions in the OpenAPI document.
type runObject struct {
	RunID       flow.RunID     `json:"run_id"`
	FlowID      flow.FlowID    `json:"flow_id"`
	Slug        string         `json:"slug" doc:"The slug of the flow."`
	Version     *int64         `json:"version" doc:"The published version; null for a draft."`
	Status      flow.RunState  `json:"status"`
	CreatedAt   stamp          `json:"created_at"`
	StartedAt   stampOrNull    `json:"started_at"`
	EndedAt     stampOrNull    `json:"ended_at"`
	ExpiresAt   stampOrNull    `json:"expires_at" doc:"When the content will be erased; null until the run has ended."`
	Inputs      **flow.Object  `json:"inputs,omitempty" doc:"Values by input name, defaults filled in; null once erased, absent in events."`
	Outputs     *flow.Object   `json:"outputs" doc:"Values by output name, added as they become known; a skipped output is absent."`
	Error       *errorObject   `json:"error"`
	Progress    flow.Progress  `json:"progress"`
	Usage       flow.Usage     `json:"usage"`
	Cost        costObject     `json:"cost" doc:"Child runs included; in lists, events and webhooks, own_cost."`
	OwnCost     costObject     `json:"own_cost" doc:"Without child runs."`
	MaxUSD      *string        `json:"max_usd" doc:"What the run may cost in dollars, with all runs below it; null without a limit."`
	Models      []string       `json:"models" doc:"The models that answered in the run, as provider/model; without those of child runs."`
	Draft       bool           `json:"draft"`
	Trigger     flow.Trigger   `json:"trigger"`
	TriggerID   *string        `json:"trigger_id" doc:"The trigger of the flow that started the run; null for other runs, as in the next three."`
	TriggerName *string        `json:"trigger_name" doc:"Its name when the run started."`
	ScheduledAt stampOrNull    `json:"scheduled_at" doc:"The planned time. A late run has an earlier one than created_at."`
	EventKey    *string        `json:"event_key" doc:"The event of the trigger, unique in it."`
	ParentRunID *flow.RunID    `json:"parent_run_id" doc:"The run that this run repeats."`
	Continues   *flow.RunID    `json:"continues" doc:"The run whose conversations of agents this run continues."`
	WaitingFor  *flow.WaitsFor `json:"waiting_for" doc:"What a waiting run waits for; null otherwise, and in lists, events and webhooks."`
	Caller      *callerObject  `json:"caller" doc:"The step of another run that started this one; null for a run that was started otherwise."`
	RootRunID   *flow.RunID    `json:"root_run_id" doc:"The run without a caller at the top; null without a caller, and in lists, events and webhooks."`
	Metadata    *flow.Object   `json:"metadata"`
	URLs        runURLs        `json:"urls"`
}

// costObject is the JSON of a cost. It is an object so that other currencies or a
// breakdown can be added.
type costObject struct {
	USD           string `json:"usd" doc:"Dollars as a decimal string, so that no digit is lost."`
	UnpricedSteps int64  `json:"unpriced_steps" doc:"Steps whose cost is unknown and not part of usd: the model has no price, or a call is lost, which means that no complete answer came."`
}

// costOf returns the JSON of the cost of a run or step.
func costOf(u flow.Usage) costObject { return costObject{u.CostNanoUSD.Exact(), u.UnpricedSteps} }

// runURLs are absolute links, so that a client need not build paths.
type runURLs struct {
	Self      string `json:"self"`
	Result    string `json:"result"`
	Cancel    string `json:"cancel"`
	Events    string `json:"events"`
	Dashboard string `json:"dashboard"`
}

// errorObject is the JSON of the error of a run or step. For an erased run only the code is left.
type errorObject struct {
	Code      flow.Code `json:"code"`
	Message   *string   `json:"message"`
	Node      *string   `json:"node"`
	Retryable bool      `json:"retryable" doc:"Whether a retry of the same run could succeed."`
}

// runObject returns the run object with download links for files.
func (s *Server) runObject(r *flow.Run) runObject {
	o := newRunObject(s.PublicURL, r)
	*o.Inputs = s.LinkFiles(r.WorkspaceID, *o.Inputs)
	o.Outputs = s.LinkFiles(r.WorkspaceID, o.Outputs)
	return o
}

// newRunObject returns the run object without download links, which expire: it may be
// stored.
func newRunObject(publicURL string, r *flow.Run) runObject {
	o := runObject{
		RunID: r.ID, FlowID: r.FlowID, Slug: r.FlowSlug, Status: r.State,
		CreatedAt: stamp(r.CreatedAt), StartedAt: stampOrNull(r.StartedAt), EndedAt: stampOrNull(r.EndedAt), ExpiresAt: stampOrNull(r.ExpiresAt),
		Error: newErrorObject(r.Error), Progress: r.Progress, Usage: r.Usage, Cost: costOf(r.Usage), OwnCost: costOf(r.Usage),
		Models: append([]string{}, r.Models...), Draft: r.Draft, Trigger: r.Trigger, TriggerID: orNull(r.TriggerID), TriggerName: orNull(r.TriggerName), ScheduledAt: stampOrNull(r.ScheduledAt), EventKey: orNull(r.EventKey), ParentRunID: orNull(r.ParentRunID), Continues: orNull(r.Continues), URLs: newRunURLs(publicURL, r),
	}
	if r.MaxUSD > 0 {
		o.MaxUSD = new(r.MaxUSD.Exact())
	}
	if r.Caller != nil {
		o.Caller = &callerObject{r.Caller.RunID, r.Caller.Path, r.Caller.Item}
	}
	if !r.Draft {
		o.Version = &r.Version
	}
	var inputs *flow.Object
	if r.Erased == "" {
		inputs, o.Metadata = orEmpty(r.Inputs), orEmpty(r.Metadata)
		if r.Outputs.Len() > 0 || r.State == flow.RunSucceeded {
			o.Outputs = orEmpty(r.Outputs)
		}
	}
	o.Inputs = &inputs
	return o
}

// newRunURLs returns the URLs of a run in the API and of its page in the dashboard.
func newRunURLs(publicURL string, r *flow.Run) runURLs {
	self := publicURL + RunPath(r.FlowID, r.ID)
	return runURLs{
		Self: self, Result: self + "/result", Cancel: self + "/cancel", Events: self + "/events",
		Dashboard: publicURL + "/flows/" + string(r.FlowID) + "/runs/" + string(r.ID),
	}
}

// RunPath returns the path of a run in the API.
func RunPath(flowID flow.FlowID, id flow.RunID) string {
	return "/v1/flow/" + string(flowID) + "/run/" + string(id)
}

// newErrorObject returns nil for a run or step without an error.
func newErrorObject(e *flow.Error) *errorObject {
	if e == nil {
		return nil
	}
	return &errorObject{e.Code, orNull(e.Message), orNull(e.Node), e.Retryable}
}

// convert returns the JSON objects of a list; never nil, which would be null.
func convert[T, O any](list []T, object func(*T) O) []O {
	objects := make([]O, len(list))
	for i := range list {
		objects[i] = object(&list[i])
	}
	return objects
}

// orNull returns a pointer to v, or nil for the zero value, which is null in JSON.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// orEmpty returns an empty map for nil, which would be null in JSON.
func orEmpty(o *flow.Object) *flow.Object {
	if o == nil {
		return &flow.Object{}
	}
	return o
}
