package automation

import "sluice/views/components"

// BackfillPage asks which planned times of a schedule that have passed are run, and shows them before it does.
type BackfillPage struct {
	FlowID, Flow string
	LiveVersion  int64
	ID, Name     string
	Sentence     string
	Zone         string // of the dates
	From, Until  string // dates
	All          bool   // also times that started a run
	Shown        bool   // the range was chosen, and the fields below are known
	Count        int    // planned times to run
	First, Last  string // of them
	Micros       int64  // what they cost if they cost as much as the newest runs; 0 if that is not known
	Errors       components.Errors
}

// path returns the URL of the page.
func (b BackfillPage) path() string { return TriggerPath(b.FlowID, b.ID) + "/backfill" }

// span says which times are run.
func (b BackfillPage) span() string {
	text := components.Quantity(b.Count, "run")
	switch {
	case b.Count > 1:
		text += ", from " + b.First + " to " + b.Last
	case b.Count == 1:
		text += ", for " + b.First
	}
	return text
}
