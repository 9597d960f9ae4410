package flow

import "time"

// Kinds of jobs.
const (
	JobRun      = "run"
	JobDelivery = "delivery"
)

// Job asks a worker to continue a run or to send a delivery. Attempt fences: a job is obsolete
// once the run or delivery has another attempt.
type Job struct {
	Kind    string `json:"-"`
	ID      string `json:"id"` // recovery queries this JSON name
	Attempt int64  `json:"attempt"`
	// Run is the run if this process has just accepted it; nil if it must be read from the
	// store.
	Run *Run `json:"-"`
}

// GuiltyAt is the Guilt at which the run of a suspect fails with CodePoisoned.
const GuiltyAt = 3

// Suspect is a run that may have crashed the process: it was executing code in two consecutive
// crashes, or in flight in ten, without progress in between. It is held back until it is tried
// separately.
type Suspect struct {
	RunID       RunID
	WorkspaceID WorkspaceID
	FlowID      FlowID
	TrialSize   int // number of suspects in its last trial, if a crash ended it; otherwise 0
	Guilt       int // from crashes in its own trials; see GuiltyAt
}

// Recovery is the result of recovering the runs and deliveries of dead workers.
type Recovery struct {
	Runs       int // queued again
	Deliveries int // due again
	Suspects   []Suspect
}

// DeliveryOutcome is the state of a delivery after one attempt.
type DeliveryOutcome struct {
	Attempt int64         // of the job, as given to FindDelivery
	State   DeliveryState // pending if there is another attempt
	NextAt  time.Time     // time of the next attempt, if pending
	// PausedUntil is when any message may be sent to the endpoint again, after a failed
	// attempt.
	PausedUntil time.Time
}

// DeliveryRecord is a delivery of the log with all its attempts.
type DeliveryRecord struct {
	Delivery
	Attempts []DeliveryAttempt
}
