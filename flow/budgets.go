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
	BudgetRuns BudgetUnit = "runs" // that were accepted
	BudgetUSD  BudgetUnit = "usd"  // in nano-dollars
)

// Budget is what one key or one flow may use on a UTC day, and what it has used.
type Budget struct {
	KeyID, FlowID string // whose it is: one of the two
	Name          string // of the key or the flow; empty for the flow of the run itself
	Unit          BudgetUnit
	Limit, Used   int64
}

// UsedUp reports whether nothing is left of it.
func (b *Budget) UsedUp() bool { return b.Used >= b.Limit }

// Refusal says that the budget is used up, and until when.
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

// NextDay is when the UTC day after that of a time begins, and with it every
// budget again.
func NextDay(t time.Time) time.Time {
	return t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// BudgetStore knows what keys and flows may cost.
type BudgetStore interface {
	// ReserveSpending reserves what a step may cost of the budgets in dollars of its
	// flow, the flows above a child run and, if there is one, the key. It returns the Refusal of a budget that is
	// used up, UnknownPrice if a budget does not allow that, and ErrBudgetReserved
	// if running steps reserve so much that the rest does not suffice. Something is
	// always left for a first step: if nothing else is reserved and the budget is
	// not used up, any amount may be reserved.
	ReserveSpending(ctx context.Context, r Reservation) error
}

// Reservation is what a step may cost. It ends when the step does, or when another
// worker takes the run over.
type Reservation struct {
	WorkspaceID   WorkspaceID
	FlowID, KeyID string   // KeyID is empty for runs of people
	FlowsAbove    []string // see Run.FlowsAbove
	RunID, Path   string
	Attempt       int64 // of the run
	Amount        NanoUSD
	Unpriced      string // the model, if its price is unknown
}

// ErrBudgetReserved reports that a budget has something left, but that running steps
// may need it.
var ErrBudgetReserved = errors.New("running steps reserve the rest of the budget")

// ErrPricesWanted reports that a start must tell which of its models have no price,
// because a budget depends on it; see NewRun.Prices.
var ErrPricesWanted = errors.New("the prices of the run's models are needed")

// UnknownPrice returns the error for models without a price under a budget in
// dollars.
func UnknownPrice(models []string) *Error {
	return Errorf(CodePriceUnknown, "There is a budget in dollars, and the price of %s is unknown. Enter it with 'sluice price set', or let the budget allow models without a price.", InputNames(models))
}

// Charge is what a step may cost money for.
type Charge struct {
	Model    string // provider/model as prices name it; empty when it comes by an edge
	Reported bool   // the provider itself says what a call costs
	Tokens   bool   // it is charged by tokens of text, as in price lists
	// Estimates of what a step with the config uses at most.
	Use     TokenUse
	Seconds float64 // of compute
}

// Price returns the price of the model, if it is known for such a charge.
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

// Check tells what is wrong with limits that were typed, by the name of each.
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
