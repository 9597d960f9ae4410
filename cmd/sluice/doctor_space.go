package main

import (
	"fmt"
	"time"

	"sluice/db"
	"sluice/flow"
)

// maxRetentionDelay is how long after its retention a run may be erased before doctor warns.
// Clean-up looks for expired runs about once a second.
const maxRetentionDelay = 10 * time.Minute

// growth reports whether clean-up keeps up, and how large the database is going to be. free is the
// space on the disk of the database in bytes, 0 if it is on another machine.
func (f *findings) growth(e db.Inspection, retention time.Duration, free int64) {
	if b := e.Backlog; b.Delay > maxRetentionDelay {
		f.add("retention", verdictWarn, "If a server runs, more runs end than this machine can erase: give it or the database more processor time or a faster disk. The metric sluice_retention_delay_seconds shows whether it catches up.",
			"%s, the oldest for %s.", count(b.Runs, "run is past its retention and still stored", "runs are past their retention and still stored"), b.Delay.Round(time.Minute))
	} else {
		f.add("retention", verdictOK, "", "Expired runs are erased in time.")
	}
	g := e.Growth
	if g.Runs < 1000 || g.PerDay == 0 {
		return // too few to tell
	}
	each := e.Size / g.Runs
	perDay := each * g.PerDay
	final := int64(float64(perDay) * retention.Hours() / 24)
	text := fmt.Sprintf("%s for each run and %d runs a day: %s a day, %s at a retention of %.3g days.", flow.Size(each), g.PerDay, flow.Size(perDay), flow.Size(final), retention.Hours()/24)
	if left := final - e.Size; free > 0 && left > free && perDay > 0 {
		f.add("growth", verdictWarn, "Use a larger disk, or shorten SLUICE_RETENTION.", "%s The disk is full in about %d days.", text, free/perDay)
		return
	}
	f.add("growth", verdictOK, "", "%s", text)
}
