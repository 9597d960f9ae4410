package console

import "time"

// AuditRow is one line of the audit log, in words.
type AuditRow struct {
	At        time.Time
	Who, What string
	// Target is what it was done to; Detail says more, and From is an address.
	Target, Detail, From string
	// Alarm marks what an owner should look at.
	Alarm bool
}
