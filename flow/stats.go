package flow

import "time"

// Day is what a flow did in 24 hours. A run counts in the hour in which it
// ended.
type Day struct {
	Hours       [24]Hour // the oldest first; the last is the present hour, as far as it has come
	Runs        int64    // all that ended, canceled ones too
	Succeeded   int64
	Failed      int64
	P95         time.Duration // from start to end, of those that succeeded or failed; within 9 %
	CostNanoUSD NanoUSD
}

// Hour is one of them.
type Hour struct{ Runs, Failed int64 }

// Success returns the share of runs that succeeded, from 0 to 1. Canceled runs do
// not count: they say nothing about the flow. Without runs it is 1.
func (d *Day) Success() float64 { return SuccessShare(d.Succeeded, d.Failed) }

// SuccessShare is the share of runs that succeeded, 1 if there were no runs.
func SuccessShare(succeeded, failed int64) float64 {
	if succeeded+failed == 0 {
		return 1
	}
	return float64(succeeded) / float64(succeeded+failed)
}
