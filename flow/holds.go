package flow

// Hold is the recorded holder of a run or of a delivery attempt. An instance compares it with
// the work that it is doing.
type Hold struct {
	Kind    string // JobRun or JobDelivery
	ID      string
	Attempt int64
	Row     int64 // ID of the job in the queue table; 0 if there is no job
	By      Holder
}

// Holder is the holder in a Hold.
type Holder int

// Holders.
const (
	// HeldHere means the calling instance. It may not know of the hold, because the response
	// of the database may have been lost.
	HeldHere Holder = iota
	// HeldByNone means no instance, and no queued job.
	HeldByNone
	// HeldTooLong means any instance or queued job, although the run is past its deadline or
	// its cancellation was requested.
	HeldTooLong
)
