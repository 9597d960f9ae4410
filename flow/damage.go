package flow

import "time"

// DamagedRow is a stored row that background work passes over, because it cannot be read, or
// because work on it fails for what is stored in it.
type DamagedRow struct {
	Table, ID string
	Task      string // what failed, such as "erase"
	Error     string
	FoundAt   time.Time
}
