package wording

import "time"

// Day formats a time as its day in UTC: Nov 28, 2026.
func Day(at time.Time) string { return at.UTC().Format("Jan 2, 2006") }

// ShortDay is Day without the year: Nov 28.
func ShortDay(at time.Time) string { return at.UTC().Format("Jan 2") }

// Moment formats a time to the minute: Nov 28, 2026, 5:14 PM UTC.
func Moment(at time.Time) string { return at.UTC().Format("Jan 2, 2006, 3:04 PM UTC") }

// Second formats a time to the second: Nov 28, 2026, 5:14:49 PM UTC.
func Second(at time.Time) string { return at.UTC().Format("Jan 2, 2006, 3:04:05 PM UTC") }
