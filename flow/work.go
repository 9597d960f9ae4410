package flow

import "time"

// Kinds of jobs.
const (
	JobRun      = "run"
	JobDelivery = "delivery"
)

// Job asks a worker to go on with a run or to send a delivery. Attempt fences:
// a job is void once its row went on to another attempt.
type Job struct {
	Kind    string `json:"-"`
	ID      string `json:"id"` // recovery looks for it under this name
	Attempt int64  `json:"attempt"`
	// Run is the run itself, for a worker that begins it in the process that has
	// just accepted it; nil if it must be read.
	Run *Run `json:"-"`
}

// GuiltyAt is the Guilt at which a suspect is given up.
const GuiltyAt = 3

// Suspect is a run that may have crashed the process: it was at work in two
// consecutive crashes, or in flight in ten, with nothing recorded in between.
// It is held back until it is tried separately.
type Suspect struct {
	RunID       string
	WorkspaceID WorkspaceID
	FlowID      string
	TrialSize   int // number of suspects in its last trial, which a crash ended; 0: none
	Guilt       int // from crashes in its own trials; see GuiltyAt
}

// Recovery says what was found when dead workers' runs were taken back.
type Recovery struct {
	Runs       int // handed back to the queue
	Deliveries int // due again
	Suspects   []Suspect
}

// DeliveryOutcome is the state of a delivery after one attempt.
type DeliveryOutcome struct {
	Attempt int64         // of the job, as given to FindDelivery
	State   DeliveryState // pending when it is to be tried again
	NextAt  time.Time     // when, if pending
	// PausedUntil is when the endpoint may be tried again, with any message,
	// after a failed attempt.
	PausedUntil time.Time
}

// DeliveryRecord is a delivery of the log with all its attempts.
type DeliveryRecord struct {
	Delivery
	Attempts []DeliveryAttempt
}
