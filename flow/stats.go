package flow

import "time"

// Day is the statistics of a flow over 24 hours. A run counts in the hour in which it ended.
type Day struct {
	Hours       [24]Hour // oldest first; the last is the current, incomplete hour
	Runs        int64    // ended runs, including canceled ones
	Succeeded   int64
	Failed      int64
	P95         time.Duration // from start to end of succeeded and failed runs; within 9 %
	CostNanoUSD NanoUSD
}

// Hour is the statistics of one hour.
type Hour struct{ Runs, Failed int64 }

// UsageHour is the usage of a flow in one hour by runs of about the same duration.
type UsageHour struct {
	Ago                         int // hours between that hour and the current one, which is 0
	FlowID                      FlowID
	Bucket                      int // of the duration: see package histogram
	Succeeded, Failed, Canceled int64
	CostNanoUSD                 NanoUSD
}

// Success returns the share of runs that succeeded, from 0 to 1. Canceled runs do not count.
// Without runs it is 1.
func (d *Day) Success() float64 { return SuccessShare(d.Succeeded, d.Failed) }

// SuccessShare returns the share of runs that succeeded, or 1 if there were no runs.
func SuccessShare(succeeded, failed int64) float64 {
	if succeeded+failed == 0 {
		return 1
	}
	return float64(succeeded) / float64(succeeded+failed)
}
