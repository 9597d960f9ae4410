package main

import (
	"time"

	"sluice/db"
	"sluice/flow"
)

// maxReplicaLag is the lag from which doctor warns.
const maxReplicaLag = 5 * time.Second

// replica reports the replica for lists.
func (f *findings) replica(e db.Inspection) {
	const instead = "Lists are read from the primary meanwhile."
	switch {
	case !e.Replica.Configured:
	case e.ReplicaError != "":
		f.add("replica", verdictBad, instead, "The replica in SLUICE_READ_DATABASE_URL cannot be used: %s.", e.ReplicaError)
	case e.Replica.Behind > maxReplicaLag:
		f.add("replica", verdictWarn, instead, "The replica is %s and %s behind.", e.Replica.Behind.Round(time.Millisecond), flow.Size(e.Replica.Bytes))
	default:
		f.add("replica", verdictOK, "", "The replica for lists is %s behind.", flow.Size(e.Replica.Bytes))
	}
}
