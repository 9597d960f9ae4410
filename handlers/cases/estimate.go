package cases

import (
	"fmt"

	"sluice/flow"
	"sluice/flow/estimates"
	"sluice/flow/library"
)

// estimate says what a test will call, and what it costs at most. The error says why the test cannot start.
func (c *call) estimate(f *flow.Flow, r library.TestRequest) (string, error) {
	p, err := c.tests().PlanTest(c.Ctx(), nil, f, &r)
	if err != nil {
		return "", err
	}
	e, err := (&estimates.Estimator{Store: c.s.Store, Kinds: c.s.Kinds, Prices: c.s.Prices}).Test(c.Ctx(), p.Test, p.File, p.Documents)
	if err != nil {
		return "", err
	}
	return estimateText(e, p.Spec.Mode), nil
}

// estimateText says what a test will do.
func estimateText(e *estimates.Estimate, mode flow.CaseMode) string {
	switch {
	case e.Steps == 0:
		return "Free: no step calls a model or a service."
	case mode == flow.CaseReplay:
		return "Free: results are recorded ones."
	case e.Calls == 0:
		return fmt.Sprintf("Free: %s recorded.", flow.Count(e.Recorded, "result"))
	}
	text := flow.Count(e.Calls, "call")
	if mode == flow.CaseFill && e.Recorded > 0 {
		text += fmt.Sprintf(", %d recorded", e.Recorded)
	}
	switch {
	case !e.Priced:
		return text + ". Cost unknown: a model has no price."
	case e.USD == 0:
		return text + ", free."
	}
	return text + ", at most $" + e.USD.Rounded() + "."
}
