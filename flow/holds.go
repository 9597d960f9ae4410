package flow

// Hold is an entry of the tables that says who has a run or an attempt at a
// delivery, for an instance that checks whether that is so.
type Hold struct {
	Kind    string // JobRun or JobDelivery
	ID      string
	Attempt int64
	Row     int64 // of a job in the queue's table, 0 if the hold has none
	By      Holder
}

// Holder says who has what a Hold is about.
type Holder int

// Holders.
const (
	// HeldHere is by the instance that asks. It knows whether that is true: the
	// answer that would have told it may have been lost.
	HeldHere Holder = iota
	// HeldByNone is by no instance, and no job waits for one.
	HeldByNone
	// HeldTooLong is by any instance, or by a job that waits for one, although
	// the run is past its deadline or was asked to cancel.
	HeldTooLong
)
