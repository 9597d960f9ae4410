package components

import (
	"fmt"
	"strconv"
	"time"

	"sluice/flow/wording"
)

// MachineTime formats a time for the datetime attribute, which allows at most three digits of a
// second.
func MachineTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.999Z") }

// Ago formats roughly how long ago a time was, or its date if it is long ago.
func Ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < 0, d > 30*24*time.Hour:
		return wording.Day(at)
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d sec. ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min. ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d hr. ago", int(d.Hours()))
	case d < 48*time.Hour:
		return "yesterday"
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// WholeDuration formats a duration as days, hours or minutes.
func WholeDuration(d time.Duration) string {
	const day = 24 * time.Hour
	n, unit := int64(d/time.Minute), "minute"
	switch {
	case d%day == 0:
		n, unit = int64(d/day), "day"
	case d%time.Hour == 0:
		n, unit = int64(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + " " + unit
}
