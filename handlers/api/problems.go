package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/flow"
)

// routerCodes are the codes for errors of the router.
var routerCodes = map[int]flow.Code{
	http.StatusNotFound:              flow.CodeNotFound,
	http.StatusMethodNotAllowed:      flow.CodeMethodNotAllowed,
	http.StatusRequestEntityTooLarge: flow.CodeBodyTooLarge,
	http.StatusUnsupportedMediaType:  flow.CodeUnsupportedMediaType,
}

// problem is the body of every error: an RFC 9457 problem, media type application/problem+json.
type problem struct {
	Type      string         `json:"type" doc:"URL of the page that explains the code."`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail" doc:"Explanation for people."`
	Instance  string         `json:"instance" doc:"The path of the request."`
	Code      flow.Code      `json:"code" doc:"Machine-readable code."`
	RequestID string         `json:"request_id"`
	Errors    []problemField `json:"errors,omitempty" doc:"All problems of the request, each with its location."`
	Error     *errorObject   `json:"error,omitempty" doc:"For run_failed and run_canceled: the error of the run."`
	Budget    *budgetObject  `json:"budget,omitempty" doc:"For budget_exceeded: the exhausted budget."`
	Diffs     []diffObject   `json:"diffs,omitempty" doc:"For breaking_change: what would break, for each flow. For slug_taken of an apply: the former slug and the keys that use it."`
	Quota     *quotaObject   `json:"quota,omitempty" doc:"For quota_exceeded: the exhausted quota of the workspace."`
}

// quotaObject is the quota of the workspace that refused the request.
type quotaObject struct {
	Unit  string `json:"unit" doc:"What it counts: stored bytes, flows or runs."`
	Limit int64  `json:"limit" doc:"How much the workspace may store."`
	Used  int64  `json:"used" doc:"How much it stores now."`
}

// newQuotaObject returns nil for nil, as for errors without a quota.
func newQuotaObject(q *flow.Quota) *quotaObject {
	if q == nil {
		return nil
	}
	return &quotaObject{Unit: string(q.Unit), Limit: q.Limit, Used: q.Used}
}

// budgetObject is an exhausted budget.
type budgetObject struct {
	Of       string      `json:"of" doc:"Owner of the budget: key or flow."`
	Name     string      `json:"name,omitempty" doc:"Name of the key."`
	Unit     string      `json:"unit" doc:"What it counts per UTC day: runs or usd."`
	Limit    json.Number `json:"limit" doc:"Limit per day."`
	Used     json.Number `json:"used" doc:"Used today."`
	Lost     json.Number `json:"lost,omitempty" doc:"Part of used: the estimated cost of calls whose bill is unknown."`
	ResetsAt stamp       `json:"resets_at" doc:"Start of the next day."`
}

// newBudgetObject returns nil for nil. Amounts are JSON numbers of runs or dollars; the
// latter keep all digits of the nano dollars in which Sluice counts.
func newBudgetObject(b *flow.Budget, now time.Time) *budgetObject {
	if b == nil {
		return nil
	}
	o := &budgetObject{Of: "flow", Name: b.Name, Unit: string(b.Unit), ResetsAt: stamp(flow.NextDay(now))}
	if b.KeyID != "" {
		o.Of = "key"
	}
	number := func(n int64) json.Number {
		if b.Unit == flow.BudgetUSD {
			return json.Number(flow.NanoUSD(n).Rounded())
		}
		return json.Number(strconv.FormatInt(n, 10))
	}
	if o.Limit, o.Used = number(b.Limit), number(b.Used); b.Lost > 0 {
		o.Lost = number(b.Lost)
	}
	return o
}

// problemField is one thing that is wrong with a request, and its location.
type problemField struct {
	Pointer string `json:"pointer" doc:"A JSON pointer into the body, or / and the name of a query parameter."`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// problems collects everything that is wrong with a request.
type problems []flow.Problem

// add adds a problem at a JSON Pointer into the body, or at the name of a parameter.
func (p *problems) add(pointer, code, detail string) {
	*p = append(*p, flow.Problem{Pointer: pointer, Code: code, Detail: detail})
}

// err returns the error for a request with problems, or nil without any.
func (p problems) err() error { return Invalid(p...) }

// Invalid returns the error for a request with problems, or nil without any.
func Invalid(p ...flow.Problem) error {
	switch len(p) {
	case 0:
		return nil
	case 1:
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "The request is invalid: " + p[0].Detail + ".", Fields: p}
	}
	return &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("The request has %d problems; errors lists each of them.", len(p)), Fields: p}
}
