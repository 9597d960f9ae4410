package flow

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BudgetUnit is what a budget counts.
type BudgetUnit string

const (
	BudgetRuns BudgetUnit = "runs" // accepted runs
	BudgetUSD  BudgetUnit = "usd"  // in nano-dollars
)

// Budget is the daily limit of one key or flow, and the usage of the current UTC day.
type Budget struct {
	KeyID       string // of the owner, unless FlowID is set
	FlowID      FlowID
	Name        string // of the key or the flow; empty for the flow of the run itself
	Unit        BudgetUnit
	Limit, Used int64
	Lost        int64 // part of Used: the estimates of calls whose bill is unknown
}

// UsedUp reports whether the usage has reached the limit.
func (b *Budget) UsedUp() bool { return b.Used >= b.Limit }

// Refusal returns the error for a budget that is used up. After is the time until it resets.
func (b *Budget) Refusal(now time.Time) *Error {
	whose := "This flow"
	switch {
	case b.KeyID != "":
		whose = fmt.Sprintf("The key %q", b.Name)
	case b.Name != "":
		whose = fmt.Sprintf("The flow %q, which started this run,", b.Name)
	}
	used := fmt.Sprintf("has started the %d %s it may start a day", b.Limit, plural(b.Limit, "run", "runs"))
	if b.Unit == BudgetUSD {
		used = fmt.Sprintf("has cost %s of the %s USD it may cost a day", NanoUSD(b.Used).Rounded(), NanoUSD(b.Limit).Rounded())
	}
	next := NextDay(now)
	return &Error{
		Code: CodeBudgetExceeded, After: next.Sub(now), Budget: b,
		Message: fmt.Sprintf("%s %s. Days are UTC days; the next begins at %s. Wait until then, or have the budget raised.", whose, used, next.Format("2006-01-02 15:04 UTC")),
	}
}

// NextDay returns the start of the next UTC day, when all budgets reset.
func NextDay(t time.Time) time.Time {
	return t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// BudgetStore enforces the budgets of keys and flows.
type BudgetStore interface {
	// ReserveSpending reserves the cost of a step in the dollar budgets of its flow, of the
	// flows above a child run and of the key. It returns the Refusal of a budget that is used
	// up, UnknownPrice if a budget does not allow unpriced models, and ErrBudgetReserved if
	// reservations of other steps leave too little. Without other reservations, any amount can
	// be reserved in a budget that is not used up. Budgets of runs work the same way, and no model without
	// a price is allowed; if others reserve the rest of one, the error is ErrRunBudgetReserved.
	ReserveSpending(ctx context.Context, r Reservation) error
}

// Reservation is the estimated cost of a step. It ends with the step, or when another worker
// claims the run.
type Reservation struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	KeyID       string   // KeyID is empty for runs started by users
	FlowsAbove  []FlowID // see Run.FlowsAbove
	RunID       RunID
	Path        string
	Attempt     int64 // of the run
	Amount      NanoUSD
	Unpriced    string // the model, if its price is unknown
	// RunBudgets are the budgets of the run and of those above it; see Run.Budgets. StepBudget is the limit
	// of the step that a sub-step belongs to, 0 without one.
	RunBudgets []RunBudgetID
	StepBudget NanoUSD
}

// RunBudgetID identifies a limit in dollars that does not reset: of a run with everything below it, or of the
// sub-steps of one of its steps with everything below them.
type RunBudgetID string

// BudgetOfRun returns the ID of the budget of a run.
func BudgetOfRun(id RunID) RunBudgetID { return RunBudgetID(id) }

// BudgetOfStep returns the ID of the budget of a step, by the path of the step or of one of its sub-steps.
func BudgetOfStep(id RunID, path string) RunBudgetID {
	node, _, _ := strings.Cut(path, SubSeparator)
	return RunBudgetID(string(id) + ":" + node)
}

// Split returns the run and, of the budget of a step, its path.
func (id RunBudgetID) Split() (run RunID, path string) {
	r, path, _ := strings.Cut(string(id), ":")
	return RunID(r), path
}

// RunBudget is the state of a budget that does not reset.
type RunBudget struct {
	ID         RunBudgetID
	Max, Spent NanoUSD // Spent includes Lost
	Lost       NanoUSD // the estimates of calls whose bill is unknown
}

// Refusal returns the error for a budget that is used up, for a step of the given run. That of a step
// has CodeAgentLimit.
func (b *RunBudget) Refusal(of RunID) *Error {
	run, path := b.ID.Split()
	code, whose := CodeBudgetExceeded, "This run"
	switch {
	case path != "":
		code, whose = CodeAgentLimit, fmt.Sprintf("The agent %q", path)
	case run != of:
		whose = fmt.Sprintf("The run %s, which started this run,", run)
	}
	return Errorf(code, "%s has cost %s of the %s USD it may cost.", whose, b.Spent.Rounded(), b.Max.Rounded())
}

// UnknownRunPrice is UnknownPrice for the budget of a run or an agent.
func UnknownRunPrice(models []string) *Error {
	return Errorf(CodePriceUnknown, "The price of %s is unknown, which max_usd requires. Set it with 'sluice price set', or leave max_usd out.", InputNames(models))
}

// ErrBudgetReserved means that a budget is not used up, but running steps have reserved the
// rest of it.
var ErrBudgetReserved = errors.New("running steps reserve the rest of the budget")

// ErrRunBudgetReserved is ErrBudgetReserved for the budget of a run. Its other steps end or
// free what they reserve, so that a step can wait for them.
var ErrRunBudgetReserved = errors.New("running steps reserve the rest of what the run may cost")

// ErrPricesWanted means that the caller must determine which models of the run have no price,
// because a budget depends on that; see NewRun.Prices.
var ErrPricesWanted = errors.New("the prices of the run's models are needed")

// UnknownPrice returns the error for models without a price under a budget in
// dollars.
func UnknownPrice(models []string) *Error {
	return Errorf(CodePriceUnknown, "The price of %s is unknown, which a budget in dollars requires. Set it with 'sluice price set', or let the budget allow models without a price.", InputNames(models))
}

// Charge describes how a step is charged.
type Charge struct {
	Model    string // provider/model as in price lists; empty if it arrives through an edge
	Reported bool   // the provider reports the cost of each call
	Free     bool   // costs nothing unless its price is known
	Tokens   bool   // charged by text tokens, as in price lists
	// Use and Seconds are upper estimates for one step.
	Use     TokenUse
	Seconds float64 // of compute
}

// Price returns the price of the model, and whether it is known and applies to this charge.
func (c *Charge) Price(ctx context.Context, prices PriceStore, ws WorkspaceID) (p Price, known bool, err error) {
	if prices == nil || c.Model == "" {
		return p, false, nil
	}
	p, known, err = prices.FindPrice(ctx, ws, c.Model)
	return p, known && (c.Tokens || p.Tokens == nil), err
}

// ParseCount reads a whole number as people write it, such as 1000 or 1,000.
func ParseCount(text string) (n int64, ok bool) {
	text = strings.TrimSpace(text)
	if !typedWhole.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	return n, err == nil
}

// Check returns the validation errors of the limits, by field name.
func (l Limits) Check() map[string]string {
	wrong := map[string]string{}
	for name, n := range map[string]int64{"max_running": l.MaxRunning, "max_queued": l.MaxQueued, "runs_per_day": l.RunsPerDay} {
		if n < 0 || n > maxKeyLimit {
			wrong[name] = "A whole number from 1 to 1,000,000,000. Leave it empty for no limit."
		}
	}
	if l.USDPerDay < 0 || l.USDPerDay > MaxUSD {
		wrong["usd_per_day"] = "An amount up to a million dollars. Leave it empty for no limit."
	}
	return wrong
}
