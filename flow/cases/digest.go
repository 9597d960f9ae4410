package cases

// Digest is what lists show of a report: all but its cases. It is stored with a test, so that a list does not read all verdicts of each.
type Digest struct {
	State      State             `json:"state"`
	Summary    string            `json:"summary"`
	Runs       int               `json:"runs"` // of all cases, repeats and candidates
	Done       int               `json:"done"` // those with a verdict
	Candidates []CandidateReport `json:"candidates"`
}

// NewDigest returns the digest of a report. verdicts is how many it has.
func NewDigest(p *Plan, r *Report, verdicts int) *Digest {
	return &Digest{State: r.State, Summary: r.Summary, Runs: len(p.Items) * len(p.Spec.Candidates), Done: verdicts, Candidates: r.Candidates}
}
