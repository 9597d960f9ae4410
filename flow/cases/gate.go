package cases

import (
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
)

// leastTimed is how many runs the 95th percentile of a gate needs.
const leastTimed = 20

// Judge returns why a candidate of a report does not pass the gate; ids are its cases. baseline is the index of the live version, or -1.
func (g *Gate) Judge(r *Report, candidate, baseline int, ids []string) (problems []flow.Problem) {
	c := &r.Candidates[candidate]
	passed := 0
	var wrong []flow.Problem
	for i := range r.Cases {
		row := &r.Cases[i]
		if !slices.Contains(ids, row.ID) {
			continue
		}
		result := &row.Results[candidate]
		if result.State == Passed {
			passed++
			continue
		}
		detail := strings.TrimSuffix(fmt.Sprintf("%s: %s", result.State, result.Message), ": ")
		wrong = append(wrong, flow.Problem{Pointer: flow.Pointer("cases", row.ID), Code: string(result.State), Detail: detail})
	}
	if float64(passed) < g.PassRate*float64(len(ids))-1e-9 {
		problems = append(problems, wrong...)
	}
	fail := func(name, format string, args ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer("gate", name), Code: "failed", Detail: fmt.Sprintf(format, args...)})
	}
	if g.NoWorse && baseline >= 0 {
		for _, id := range c.Worse {
			if slices.Contains(ids, id) && !slices.ContainsFunc(problems, func(p flow.Problem) bool { return p.Pointer == flow.Pointer("cases", id) }) {
				problems = append(problems, flow.Problem{Pointer: flow.Pointer("cases", id), Code: string(Failed), Detail: "the live version passes it"})
			}
		}
	}
	if limit, percent, ok := parseLimit(g.USD); ok && len(ids) > 0 {
		is := c.USD.Dollars() / float64(len(ids))
		switch {
		case percent && baseline >= 0 && r.Candidates[baseline].USD > 0:
			if was := r.Candidates[baseline].USD.Dollars() / float64(len(ids)); is > was*(1+limit/100)+1e-12 {
				fail("usd", "a case costs $%.6f, more than %s above the $%.6f of the live version", is, strings.TrimPrefix(g.USD, "+"), was)
			}
		case !percent && is > limit:
			fail("usd", "a case costs $%.6f; the limit is $%s", is, g.USD)
		}
	}
	if g.P95 > 0 && c.Timed >= leastTimed && c.P95.Milliseconds() > g.P95 {
		fail("p95_ms", "95 %% of the runs take up to %d ms; the limit is %d ms", c.P95.Milliseconds(), g.P95)
	}
	return problems
}
