package console

import (
	"fmt"

	"sluice/views/components"
)

// UsageBudget is the daily budget of a flow or key, and how much of it was used in the current
// UTC day.
type UsageBudget struct {
	Name, Href    string
	Key           bool // the budget of a key; otherwise of a flow
	Runs          bool // counts runs; otherwise millionths of a US dollar
	Used, Allowed int64
}

func (b UsageBudget) share() components.Share {
	part := float64(b.Used) / float64(max(1, b.Allowed))
	return components.Share{Part: part, Tone: limitTone(part), Label: fmt.Sprintf("%s, %s: %s today", b.Name, b.whose(), b.label())}
}

func (b UsageBudget) whose() string {
	if b.Key {
		return "key"
	}
	return "flow"
}

func (b UsageBudget) unit() string {
	if b.Runs {
		return "Runs"
	}
	return "Dollars"
}

// label returns how much of the budget was used today: "3 of 10 runs", or dollars.
func (b UsageBudget) label() string {
	if b.Runs {
		return fmt.Sprintf("%s of %s runs", components.Count(int(b.Used)), components.Count(int(b.Allowed)))
	}
	return fmt.Sprintf("%s of %s", components.Money(b.Used), amount(b.Allowed))
}

// amount formats millionths of a dollar; budgets are usually typed in whole cents.
func amount(micros int64) string {
	if micros%10_000 == 0 {
		return fmt.Sprintf("$%.2f", float64(micros)/1e6)
	}
	return components.Money(micros)
}

// limitTone returns a warning from 80 % of a limit, and an error from 100 %, when further runs
// or uploads are refused.
func limitTone(part float64) components.Tone {
	switch {
	case part >= 1:
		return components.ToneBad
	case part >= 0.8:
		return components.ToneWait
	}
	return components.ToneNone
}

// UsageQuota is one quota of the workspace and how much of it is used.
type UsageQuota struct {
	Unit        string // "bytes", "flows" or "runs"
	Used, Limit int64  // a Limit of 0 is unlimited
}

// amount formats a number in the unit of the quota: a size such as "5 GiB", or a count.
func (q UsageQuota) amount(n int64) string {
	if q.Unit == "bytes" {
		return components.Size(n)
	}
	return components.Count(int(n))
}

// title returns the label of the quota. The quota of bytes is shared by files, runs and flows.
func (q UsageQuota) title() string {
	switch q.Unit {
	case "flows":
		return "Flows"
	case "runs":
		return "Runs kept"
	}
	return "Files, runs and flows"
}

// label returns the amount in use and, unless the quota is unlimited, the limit: "3 of
// 10".
func (q UsageQuota) label() string {
	if q.Limit == 0 {
		return q.amount(q.Used)
	}
	return q.amount(q.Used) + " of " + q.amount(q.Limit)
}

// part returns the used fraction of the quota, where 1 is all of it.
func (q UsageQuota) part() float64 {
	if q.Limit == 0 {
		return 0
	}
	return float64(q.Used) / float64(q.Limit)
}

func (q UsageQuota) share() components.Share {
	return components.Share{Part: q.part(), Tone: limitTone(q.part()), Label: q.title() + ": " + q.label()}
}

// advice says what is refused, or soon will be, and what to do; "" below 80 %.
func (q UsageQuota) advice() string {
	if q.part() < 0.8 {
		return ""
	}
	state, refused, remedy := "Almost full.", "", ""
	switch q.Unit {
	case "flows":
		refused, remedy = "New flows are refused.", "Archive flows that you no longer need"
	case "runs":
		refused, remedy = "New runs are refused.", "Delete runs that you no longer need"
	default:
		refused, remedy = "Uploads, new runs and larger drafts are refused.", "Delete runs or files that you no longer need"
	}
	if q.part() >= 1 {
		state = "Full. " + refused
	}
	return state + " " + remedy + ", or ask the operator of this server to raise the quota."
}
