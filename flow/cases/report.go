package cases

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// Pending is the state of a case whose runs have not all ended.
const Pending State = "pending"

// CaseResult is what the runs of a case say about a candidate.
type CaseResult struct {
	State   State        `json:"state"`
	Passes  int          `json:"passes"`
	Runs    int          `json:"runs"`
	Score   float64      `json:"score"`
	USD     flow.NanoUSD `json:"-"` // of one run on average
	MS      int64        `json:"ms"`
	Message string       `json:"message,omitempty"`
	RunID   flow.RunID   `json:"run_id"` // of the first run that did not pass, or the first
	Verdict *Verdict     `json:"-"`      // on that run; nil without one
}

// Rate is how many runs of a case passed. Errored and stale runs say nothing, so they do not count.
type Rate struct{ Passed, Runs int }

// Flaky reports whether some runs passed and others failed.
func (r Rate) Flaky() bool { return r.Passed > 0 && r.Passed < r.Runs }

// CaseReport is the row of a case.
type CaseReport struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Tags    []string     `json:"tags"`
	Results []CaseResult `json:"results"` // by candidate
}

// CandidateReport is the column of a candidate.
type CandidateReport struct {
	Candidate
	Passed, Failed, Errored, Stale, Pending int
	Low, High                               float64 // 95 % interval of the pass rate
	USD, Spent                              flow.NanoUSD
	JudgeUSD, JudgeSpent                    flow.NanoUSD // of the checks that ask; not part of USD and Spent
	P95                                     time.Duration
	Timed                                   int      // runs that P95 is of
	Recorded                                bool     // cost and time are from recordings
	Worse, Better                           []string // cases, compared with the baseline
	Finds                                   []FindsRate
	// Clear reports whether the difference to the baseline is more than chance.
	Clear bool
}

// FindsRate counts how often searches had the wanted source among their first hits: hits@k.
type FindsRate struct {
	Top   int `json:"top"`
	Found int `json:"found"`
	Of    int `json:"of"`
}

// addFinds counts the checks finds of a verdict.
func (c *CandidateReport) addFinds(checks []Outcome) {
	for i := range checks {
		o := &checks[i]
		if o.Kind != FindsCheck {
			continue
		}
		at := slices.IndexFunc(c.Finds, func(f FindsRate) bool { return f.Top >= o.Top })
		if at < 0 || c.Finds[at].Top != o.Top {
			if at < 0 {
				at = len(c.Finds)
			}
			c.Finds = slices.Insert(c.Finds, at, FindsRate{Top: o.Top})
		}
		if c.Finds[at].Of++; o.State == Passed {
			c.Finds[at].Found++
		}
	}
}

// Column is a candidate in the report of a test.
type Column struct {
	Test      *Test
	Candidate int
}

// Counted returns the cases whose verdicts a report cannot sum up without their checks, by ID: those that check what searches find.
func (p *Plan) Counted() map[string]bool {
	counted := map[string]bool{}
	for _, id := range p.Spec.Cases {
		if c := p.File.Find(id); c != nil && slices.ContainsFunc(p.File.checksOf(c), func(k Check) bool { return k.Kind == FindsCheck }) {
			counted[id] = true
		}
	}
	return counted
}

// Report is what a test found.
type Report struct {
	Summary    string // all lines
	Lines      []Line // one for each candidate but the baseline
	State      State  // passed, failed, errored, stale or pending
	Candidates []CandidateReport
	Cases      []CaseReport
}

// Find returns the row of a case, or nil.
func (r *Report) Find(id string) *CaseReport {
	if i := slices.IndexFunc(r.Cases, func(c CaseReport) bool { return c.ID == id }); i >= 0 {
		return &r.Cases[i]
	}
	return nil
}

// NewReport returns the report of a test from its verdicts, which need not be complete.
func NewReport(p *Plan, verdicts []Verdict) *Report {
	r := &Report{Candidates: make([]CandidateReport, len(p.Spec.Candidates)), Cases: make([]CaseReport, 0, len(p.Spec.Cases))}
	byCase := map[string][][]*Verdict{}
	times := make([][]int64, len(p.Spec.Candidates))
	for i := range verdicts {
		v := &verdicts[i]
		if v.Candidate < 0 || v.Candidate >= len(r.Candidates) {
			continue
		}
		if byCase[v.Case] == nil {
			byCase[v.Case] = make([][]*Verdict, len(r.Candidates))
		}
		byCase[v.Case][v.Candidate] = append(byCase[v.Case][v.Candidate], v)
		c := &r.Candidates[v.Candidate]
		c.USD, c.Spent, c.Recorded = c.USD+v.USD, c.Spent+v.Spent, c.Recorded || v.Recorded
		c.JudgeUSD, c.JudgeSpent = c.JudgeUSD+v.JudgeUSD, c.JudgeSpent+v.JudgeSpent
		c.addFinds(v.Checks)
		if v.State != Stale {
			times[v.Candidate] = append(times[v.Candidate], v.MS)
		}
	}
	for i := range r.Candidates {
		r.Candidates[i].Candidate = p.Spec.Candidates[i]
	}
	for _, id := range p.Spec.Cases {
		c := p.File.Find(id)
		if c == nil {
			continue
		}
		row := CaseReport{ID: id, Name: c.Name, Tags: c.Tags, Results: make([]CaseResult, len(r.Candidates))}
		runs, _ := p.File.Repeats(c)
		if p.Spec.Repeat > 0 {
			runs = p.Spec.Repeat
		}
		for k := range r.Candidates {
			var of []*Verdict
			if byCase[id] != nil {
				of = byCase[id][k]
			}
			row.Results[k] = resultOf(of, runs, p.Spec.passes(p.File, c))
			r.Candidates[k].count(row.Results[k].State)
		}
		r.Cases = append(r.Cases, row)
	}
	for i := range r.Candidates {
		r.Candidates[i].finish(times[i])
	}
	r.compare(p.Spec.Baseline)
	r.State = r.state(p.Spec.Baseline)
	r.Lines = r.lines(p.Spec.Baseline)
	var texts []string
	for _, l := range r.Lines {
		texts = append(texts, l.Lead+" "+l.Rest)
	}
	r.Summary = strings.Join(texts, " ")
	return r
}

// resultOf sums up the verdicts on the runs of a case.
func resultOf(of []*Verdict, runs, pass int) CaseResult {
	r := CaseResult{State: Pending, Runs: runs}
	counts := map[State]int{}
	for _, v := range of {
		counts[v.State]++
		r.Score, r.USD, r.MS = r.Score+v.Score, r.USD+v.USD, r.MS+v.MS
		if r.Verdict == nil || r.Message == "" && v.State != Passed {
			r.RunID, r.Verdict = v.RunID, v
		}
		if r.Message == "" {
			r.Message = v.Message
		}
	}
	if n := len(of); n > 0 {
		r.Score, r.USD, r.MS = r.Score/float64(n), r.USD/flow.NanoUSD(n), r.MS/int64(n)
	}
	r.Passes = counts[Passed]
	switch {
	case len(of) < runs:
	case counts[Passed] >= pass:
		r.State, r.Message = Passed, ""
	case counts[Stale] > 0:
		r.State = Stale
	case counts[Passed]+counts[Errored] >= pass:
		r.State = Errored
	default:
		r.State = Failed
	}
	return r
}

func (c *CandidateReport) count(s State) {
	switch s {
	case Passed:
		c.Passed++
	case Failed:
		c.Failed++
	case Errored:
		c.Errored++
	case Stale:
		c.Stale++
	case Pending:
		c.Pending++
	}
}

// finish sets what is computed from the counts and times of all cases.
func (c *CandidateReport) finish(times []int64) {
	c.Low, c.High = interval(c.Passed, c.Passed+c.Failed)
	if c.Timed = len(times); c.Timed > 0 {
		slices.Sort(times)
		at := int(math.Ceil(0.95*float64(len(times)))) - 1
		c.P95 = time.Duration(times[at]) * time.Millisecond
	}
}

// PassRate returns the share of the cases that pass, from 0 to 1. It is 1 without cases.
func (c *CandidateReport) PassRate() float64 {
	n := c.Passed + c.Failed + c.Errored + c.Stale + c.Pending
	if n == 0 {
		return 1
	}
	return float64(c.Passed) / float64(n)
}

// interval returns the 95 % interval of a share (Wilson).
func interval(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	center, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (center-half)/(1+z*z/m)), min(1, (center+half)/(1+z*z/m))
}

// compare sets which cases are better or worse than with the baseline.
func (r *Report) compare(baseline int) {
	if baseline < 0 || baseline >= len(r.Candidates) {
		return
	}
	for k := range r.Candidates {
		c := &r.Candidates[k]
		if k == baseline {
			continue
		}
		for i := range r.Cases {
			was, is := r.Cases[i].Results[baseline].State, r.Cases[i].Results[k].State
			switch {
			case was == Passed && is == Failed:
				c.Worse = append(c.Worse, r.Cases[i].ID)
			case was == Failed && is == Passed:
				c.Better = append(c.Better, r.Cases[i].ID)
			}
		}
		c.Clear = isClear(len(c.Better), len(c.Worse))
	}
}

// isClear reports whether so many better and worse cases are unlikely by chance: a sign test at 5 %.
func isClear(better, worse int) bool {
	n, k := better+worse, min(better, worse)
	if n == 0 {
		return false
	}
	tail, term := 0.0, math.Pow(0.5, float64(n))
	for i := 0; i <= k; i++ {
		tail += term
		term *= float64(n-i) / float64(i+1)
	}
	return 2*tail < 0.05
}

// state returns the worst state of a candidate that is not the baseline, or of the only one.
func (r *Report) state(baseline int) State {
	for _, s := range []State{Pending, Failed, Errored, Stale} {
		for k := range r.Candidates {
			if k == baseline && len(r.Candidates) > 1 {
				continue
			}
			c := &r.Candidates[k]
			if (map[State]int{Pending: c.Pending, Failed: c.Failed, Errored: c.Errored, Stale: c.Stale})[s] > 0 {
				return s
			}
		}
	}
	return Passed
}

// Line sums up a candidate: the most important sentence, and the others.
type Line struct{ Lead, Rest string }

// lines sums up the candidates, those that got worse first.
func (r *Report) lines(baseline int) (lines []Line) {
	order := make([]int, len(r.Candidates))
	for k := range order {
		order[k] = k
	}
	sorting.By(order, func(a, b int) int { return min(1, len(r.Candidates[b].Worse)) - min(1, len(r.Candidates[a].Worse)) })
	for _, k := range order {
		if k == baseline && len(r.Candidates) > 1 {
			continue
		}
		line := r.sentence(k, baseline)
		if len(r.Candidates) > 2 || baseline < 0 && len(r.Candidates) > 1 {
			line.Lead = wording.Capitalize(r.Candidates[k].Label) + ": " + line.Lead
		}
		lines = append(lines, line)
	}
	return lines
}

// shown is how many cases a summary names.
const shown = 5

func names(list []string) string {
	if len(list) > shown {
		return strings.Join(list[:shown], ", ") + fmt.Sprintf(" and %d more", len(list)-shown)
	}
	return strings.Join(list, ", ")
}

// sentence sums up a candidate.
func (r *Report) sentence(k, baseline int) Line {
	c, n := &r.Candidates[k], len(r.Cases)
	var parts []string
	compared := baseline >= 0 && baseline < len(r.Candidates) && k != baseline
	if compared && len(c.Worse)+len(c.Better) > 0 {
		was := r.Candidates[baseline].Label
		switch {
		case !c.Clear && len(c.Better) > 0 && len(c.Worse) > 0:
			parts = append(parts, fmt.Sprintf("%d better, %d worse of %d than %s: no clear difference (worse: %s).", len(c.Better), len(c.Worse), n, was, names(c.Worse)))
		case len(c.Worse) > 0:
			parts = append(parts, fmt.Sprintf("%s got worse than %s (%s).", flow.Count(len(c.Worse), "case"), was, names(c.Worse)))
		default:
			parts = append(parts, fmt.Sprintf("%s got better than %s (%s).", flow.Count(len(c.Better), "case"), was, names(c.Better)))
		}
	}
	parts = append(parts, fmt.Sprintf("%d of %d pass.", c.Passed, n))
	for _, s := range []struct {
		n    int
		text string
	}{{c.Stale, "stale"}, {c.Errored, "with errors"}, {c.Pending, "not finished"}} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s.", s.n, s.text))
		}
	}
	for _, f := range c.Finds {
		parts = append(parts, fmt.Sprintf("hits@%d %d of %d.", f.Top, f.Found, f.Of))
	}
	cost := "$" + c.USD.Rounded()
	p95 := fmt.Sprintf("p95 %.1f s", c.P95.Seconds())
	if compared {
		was := &r.Candidates[baseline]
		cost += withChange(CostChange(c, was))
		p95 += withChange(TimeChange(c, was))
	}
	parts = append(parts, cost+".")
	if c.Timed > 0 {
		parts = append(parts, p95+".")
	}
	return Line{parts[0], strings.Join(parts[1:], " ")}
}

// CostChange returns how much more a candidate costs than another one, such as +9 %, or "" if that is nothing or unknown.
func CostChange(c, was *CandidateReport) string {
	if was.USD <= 0 {
		return ""
	}
	return wording.Signed(100*(float64(c.USD)/float64(was.USD)-1), 0, "%")
}

// TimeChange returns how much longer a candidate takes than another one, such as −0.3 s, or "" if that is nothing or unknown.
func TimeChange(c, was *CandidateReport) string {
	if c.Timed == 0 || was.Timed == 0 {
		return ""
	}
	return wording.Signed((c.P95 - was.P95).Seconds(), 1, "s")
}

// withChange returns a change as the end of a sentence.
func withChange(change string) string {
	if change == "" {
		return ""
	}
	return ", " + change
}
