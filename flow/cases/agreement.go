package cases

import (
	"fmt"

	"sluice/flow"
)

// People mark the verdicts of a judge as right or wrong. A judge is its model with its rubric.

// JudgeMark is what a person said of a verdict of a judge.
type JudgeMark struct {
	Candidate int
	Case      string
	Repeat    int
	Check     string // its label
	Judge     string // see JudgeHash
	Right     bool
	By        string
}

// Agreement counts the marks of a judge.
type Agreement struct{ Marks, Agreed int }

const (
	// enoughMarks is from how many marks on an agreement says something.
	enoughMarks = 20
	// leastAgreement is the share of right verdicts below which a judge is of little use, and leastTrusted the share that it needs to
	// decide a gate without other checks.
	leastAgreement = 0.80
	leastTrusted   = 0.95
)

// Rate returns the share of verdicts that are right, from 0 to 1; false with too few marks.
func (a Agreement) Rate() (rate float64, enough bool) {
	if a.Marks == 0 {
		return 0, false
	}
	return float64(a.Agreed) / float64(a.Marks), a.Marks >= enoughMarks
}

// Warning returns what is wrong with a judge; "" if nothing is known to be.
func (a Agreement) Warning() string {
	switch rate, enough := a.Rate(); {
	case !enough:
		return "Mark at least 20 verdicts as right or wrong to check this judge."
	case rate < leastAgreement:
		return "People disagree with more than a fifth of the verdicts. Change the rubric or the model."
	}
	return ""
}

// MayDecide reports whether a judge can decide a gate without other checks.
func (a Agreement) MayDecide() bool {
	rate, enough := a.Rate()
	return enough && rate >= leastTrusted
}

// JudgeHash identifies a judge by its model and its rubric.
func (c *Check) JudgeHash() string {
	rubric, _ := c.Value.(string)
	return flow.Hash([]byte(c.Model + "\x00" + rubric))
}

// Judges returns the judges in the checks of some cases, each once.
func (f *File) Judges(ids []string) (list []Check) {
	seen := map[string]bool{}
	for _, id := range ids {
		c := f.Find(id)
		if c == nil {
			continue
		}
		for _, check := range f.checksOf(c) {
			if check.Kind == Judge && !seen[check.JudgeHash()] {
				seen[check.JudgeHash()] = true
				list = append(list, check)
			}
		}
	}
	return list
}

// JudgeOf returns the check of a case that is a judge with a label, or nil.
func (f *File) JudgeOf(c *Case, label string) *Check {
	checks := f.checksOf(c)
	for i, l := range Labels(checks) {
		if checks[i].Kind == Judge && l == label {
			return &checks[i]
		}
	}
	return nil
}

// DecidedByJudges returns the judges that decide a case without another check about its outputs; nil if there is such a check.
func (f *File) DecidedByJudges(c *Case) (judges []Check) {
	for _, check := range f.checksOf(c) {
		switch {
		case check.Watch, check.Kind == Status, check.Kind == LimitsCheck:
		case check.Kind == Judge:
			judges = append(judges, check)
		default:
			return nil
		}
	}
	return judges
}

// Undecided returns the problems of cases that only judges decide whose verdicts people do not agree with, or have not checked.
func (f *File) Undecided(ids []string, marks map[string]Agreement) (problems []flow.Problem) {
	for _, id := range ids {
		for _, judge := range f.DecidedByJudges(f.Find(id)) {
			if a := marks[judge.JudgeHash()]; !a.MayDecide() {
				problems = append(problems, flow.Problem{Pointer: flow.Pointer("cases", id), Code: "judge", Detail: fmt.Sprintf("only the judge %q decides it, and people marked %d of its verdicts, %d of them as right; it needs 20 marks and 95 %%, or another check", judge.Label(), a.Marks, a.Agreed)})
			}
		}
	}
	return problems
}
