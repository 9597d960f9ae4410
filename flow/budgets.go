package flow

import (
	"context"
	"fmt"
	"slices"
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
	Name          string // of the key or the flow
	Unit          BudgetUnit
	Limit, Used   int64
}

// UsedUp reports whether nothing is left of it.
func (b *Budget) UsedUp() bool { return b.Used >= b.Limit }

// Refusal says that the budget is used up, and until when.
func (b *Budget) Refusal(now time.Time) *Error {
	whose := "This flow"
	if b.KeyID != "" {
		whose = fmt.Sprintf("The key %q", b.Name)
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
	// CheckSpending returns the Refusal of a budget in dollars that the flow, or
	// the key if there is one, has used up today.
	CheckSpending(ctx context.Context, ws WorkspaceID, flowID, keyID string) error
}

// Charge is what a step may cost money for.
type Charge struct {
	Model    string // provider/model as prices name it; empty when it comes by an edge
	Reported bool   // the provider itself says what a call costs
}

// Charges are what the nodes of a document may cost money for, each once, in
// their order. Disabled nodes cost nothing.
func (d *Document) Charges(kinds *Registry) (list []Charge) {
	seen := map[Charge]bool{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := kinds.Find(n.Kind)
		if k == nil || k.Charge == nil || n.Disabled {
			continue
		}
		if c, paid := k.Charge(n.Config); paid && !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	return list
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

// Unpriced are the models among charges whose cost nobody would know: what they
// cost counts as nothing, so no budget stops them.
func Unpriced(charges []Charge, prices []Price) (models []string) {
	for _, c := range charges {
		known := slices.ContainsFunc(prices, func(p Price) bool { return p.Model == c.Model })
		if !known && !c.Reported && c.Model != "" {
			models = append(models, c.Model)
		}
	}
	return models
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

// Changes says what another Limits has otherwise, for the audit log.
func (l Limits) Changes(to Limits) string {
	var list []string
	differ := func(what, before, after string) {
		if before != after {
			list = append(list, what+" from "+before+" to "+after)
		}
	}
	differ("runs at once", orNone(l.MaxRunning), orNone(to.MaxRunning))
	differ("waiting runs", orNone(l.MaxQueued), orNone(to.MaxQueued))
	differ("runs a day", orNone(l.RunsPerDay), orNone(to.RunsPerDay))
	differ("dollars a day", l.USDPerDay.orNoLimit(), to.USDPerDay.orNoLimit())
	return strings.Join(list, ", ")
}
