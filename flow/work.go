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
}

// Suspect is a run that was cut by a crash at least twice with nothing
// recorded between. It is held back until somebody decides what to do with it.
type Suspect struct {
	RunID, WorkspaceID, FlowID string
	Attempt                    int64
	Crashes                    int
}

// Recovery says what was found when dead workers' runs were taken back.
type Recovery struct {
	Runs       int // handed back to the queue
	Deliveries int // due again
	Suspects   []Suspect
}

// DeliveryOutcome is what an attempt at a delivery led to.
type DeliveryOutcome struct {
	Attempt int64         // of the job, as given to FindDelivery
	State   DeliveryState // pending when it is to be tried again
	NextAt  time.Time     // when, if pending
}

// DeliveryRecord is a delivery of the log with all its attempts.
type DeliveryRecord struct {
	Delivery
	Attempts []DeliveryAttempt
}
