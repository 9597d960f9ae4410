package console

import "time"

// AuditRow is one line of the audit log, formatted for display.
type AuditRow struct {
	At        time.Time
	Who, What string
	// Target is the object of the action, Detail says more, and From is an IP address.
	Target, Detail, From string
	// Alarm highlights events that an owner should review, such as failed sign-ins.
	Alarm bool
}
