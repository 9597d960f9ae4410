package cases

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice/flow"
)

// Judgement is the answer of a judge.
type Judgement struct {
	Reason string
	Score  float64
	Pass   bool
}

// ReadJudgement reads the answer of a judge: one JSON object with exactly the members that were asked for, and the nonce. Anything else is
// an error, never a verdict.
func ReadJudgement(text, nonce string, compares, flipped bool) (j Judgement, err error) {
	invalid := func(format string, args ...any) error {
		return flow.Errorf(flow.CodeJudgeFailed, "The judge gave no verdict: "+format+".", args...)
	}
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return j, invalid("its answer is not one JSON object")
	}
	v, err := flow.DecodeJSON([]byte(text))
	o, ok := flow.AsObject(v)
	if err != nil || !ok {
		return j, invalid("its answer is not one JSON object")
	}
	names := []string{"reason", "score", "pass", "nonce"}
	if compares {
		names = []string{"reason", "winner", "nonce"}
	}
	for name := range o.All() {
		if !slices.Contains(names, name) {
			return j, invalid("the member %q was not asked for", name)
		}
	}
	if o.Get("nonce") != nonce {
		return j, invalid("its nonce is another one")
	}
	if j.Reason, ok = o.Get("reason").(string); !ok {
		return j, invalid("reason is not a text")
	}
	if !compares {
		j.Score, ok = number(o.Get("score"))
		if !ok || j.Score < 0 || j.Score > 1 {
			return j, invalid("score is not a number from 0 to 1")
		}
		if j.Pass, ok = o.Get("pass").(bool); !ok {
			return j, invalid("pass is not true or false")
		}
		if j.Pass && j.Score == 0 { // such as a number of faults
			return j, invalid("pass is true and score is 0")
		}
		return j, nil
	}
	winner, _ := o.Get("winner").(string)
	own, other := "a", "b"
	if flipped {
		own, other = other, own
	}
	switch winner {
	case own:
		j.Score = 1
	case "tie":
		j.Score = 0.5
	case other:
	default:
		return j, invalid("winner is not a, b or tie")
	}
	j.Pass = j.Score >= 0.5
	return j, nil
}

// number returns a JSON number. A text is not a number.
func number(v any) (float64, bool) {
	if flow.TypeOf(v) != "number" {
		return 0, false
	}
	return flow.Float(v)
}

// Reply is what the run of a question gave.
type Reply struct {
	Ask
	State   flow.RunState
	Error   *flow.Error
	Outputs *flow.Object
	Missing string // what is not recorded
}

// Outcomes returns the outcomes of the checks of a case that ask, by their index. asked has the replies to the questions about one run.
func (p *Plan) Outcomes(item int, asked []Reply, isBaseline bool) map[int]Outcome {
	outcomes := map[int]Outcome{}
	for k, check := range p.File.checksOf(p.Items[item].Case) {
		if !check.asks() {
			continue
		}
		var replies []Reply
		for _, r := range asked {
			if r.Check == k {
				replies = append(replies, r)
			}
		}
		outcomes[k] = check.outcome(p.Items[item].Case, replies, isBaseline)
	}
	return outcomes
}

// outcome returns the outcome of a check from the replies to its questions.
func (c *Check) outcome(of *Case, replies []Reply, isBaseline bool) Outcome {
	if len(replies) == 0 {
		switch {
		case c.Kind == Similar:
			return errored("there is no output %s, or no text to compare it with", c.Output)
		case c.Against != "" && isBaseline:
			return Outcome{State: Passed, Score: 1, Reason: "this is the baseline"}
		case c.Against != "":
			return errored("the test has no baseline, or its run failed")
		}
		return errored("the %s could not run, or what it would see is too large", c.Kind)
	}
	for i := range replies {
		if replies[i].Missing != "" {
			return Outcome{State: Stale, Reason: replies[i].Missing}
		}
	}
	if c.Kind == Judge {
		return c.majority(replies)
	}
	r := &replies[0]
	if r.State != flow.RunSucceeded {
		return errored("%s", flow.AsError(r.Error).Message)
	}
	if c.Kind == Similar {
		score, ok := similarityOf(r.Outputs)
		switch {
		case !ok:
			return errored("the similarity is not a number")
		case score < c.least(leastSimilar):
			return Outcome{State: Failed, Score: max(0, score), Reason: fmt.Sprintf("the similarity is %.2f; at least %v is wanted", score, c.least(leastSimilar))}
		}
		return Outcome{State: Passed, Score: min(1, max(0, score))}
	}
	pass, isBool := r.Outputs.Get("pass").(bool)
	score, hasScore := number(r.Outputs.Get("score"))
	reason := flow.Text(r.Outputs.Get("reason"))
	switch {
	case !isBool:
		return errored("the flow has no output pass with true or false")
	case r.Outputs.Has("score") && (!hasScore || score < 0 || score > 1):
		return errored("the output score of the flow is not a number from 0 to 1")
	case !hasScore && pass:
		score = 1
	}
	if !pass || c.HasMin && score < c.Min {
		return Outcome{State: Failed, Score: score, Reason: reason}
	}
	return Outcome{State: Passed, Score: score, Reason: reason}
}

// similarityOf returns the similarity of two texts: as it is, or the cosine of their vectors.
func similarityOf(outputs *flow.Object) (float64, bool) {
	if score, ok := number(outputs.Get("score")); ok {
		return score, true
	}
	a, _ := outputs.Get("a").([]any)
	b, _ := outputs.Get("b").([]any)
	if len(a) == 0 || len(a) != len(b) {
		return 0, false
	}
	var dot, na, nb float64
	for i := range a {
		x, isX := number(a[i])
		y, isY := number(b[i])
		if !isX || !isY {
			return 0, false
		}
		dot, na, nb = dot+x*y, na+x*x, nb+y*y
	}
	if na == 0 || nb == 0 {
		return 0, true
	}
	return dot / math.Sqrt(na*nb), true
}

// majority returns the outcome of the votes of a judge. Votes that cannot be read count for neither side.
func (c *Check) majority(replies []Reply) Outcome {
	passes, fails, sum, read := 0, 0, 0.0, 0
	reason, problem := map[bool]string{}, ""
	least := c.least(0)
	if c.Against != "" {
		least = c.least(leastAgainst)
	}
	byVote := map[string][]Reply{} // both orders of a vote count together
	var votes []string
	for _, r := range replies {
		vote := flow.Text(r.Inputs.Get("vote"))
		if byVote[vote] == nil {
			votes = append(votes, vote)
		}
		byVote[vote] = append(byVote[vote], r)
	}
	for _, vote := range votes {
		score, pass, why, ok := 0.0, true, "", true
		for _, r := range byVote[vote] {
			if r.State != flow.RunSucceeded {
				problem, ok = "The judge gave no verdict: "+flow.AsError(r.Error).Message, false
				continue
			}
			j, err := ReadJudgement(flow.Text(r.Outputs.Get("answer")), r.Nonce, c.Against != "", r.Flipped)
			if err != nil {
				problem, ok = flow.AsError(err).Message, false
				continue
			}
			score += j.Score / float64(len(byVote[vote]))
			pass, why = pass && (j.Pass || c.Against != ""), j.Reason
		}
		if !ok {
			continue
		}
		pass = pass && score >= least
		if sum, read = sum+score, read+1; pass {
			passes++
		} else {
			fails++
		}
		reason[pass] = why
	}
	o := Outcome{State: Errored, Reason: problem}
	if read > 0 {
		o.Score = sum / float64(read)
	}
	switch {
	case 2*passes > len(votes):
		o.State, o.Reason = Passed, reason[true]
	case 2*fails > len(votes):
		o.State, o.Reason = Failed, reason[false]
	case problem == "":
		o.Reason = "the votes of the judge are split"
	}
	return o
}
