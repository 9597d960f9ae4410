package jobs

import (
	"database/sql"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
)

// pilotDriver is one of River's drivers with this package's pilot. River documents
// the interfaces as private, so its version is pinned in go.mod and tests cover the
// behavior that this package relies on.
type pilotDriver[TTx any] struct {
	riverdriver.Driver[TTx]
	pilot *pilot
}

// PluginInit implements riverpilot's plugin interface, without which River does not
// ask for a pilot.
func (d *pilotDriver[TTx]) PluginInit(*baseservice.Archetype) {}

// PluginPilot returns the pilot.
func (d *pilotDriver[TTx]) PluginPilot() riverpilot.Pilot { return d.pilot }

// wakeDriver is the driver on SQLite. River polls there, because it cannot see when
// the transaction of InsertTx commits. The pilot's hook notifies the producer in
// memory after the commit instead, so a job starts about a millisecond later. If a
// notification is lost, the poll still finds the job.
type wakeDriver struct{ *pilotDriver[*sql.Tx] }

// newWakeDriver wraps River's driver for SQLite. That one only polls; with the wrapper,
// inserts of this process wake the queue.
func newWakeDriver(db *sql.DB, p *pilot) *wakeDriver {
	return &wakeDriver{&pilotDriver[*sql.Tx]{riversqlite.New(db), p}}
}

// SupportsListener returns false: the pilot's hook notifies the producer.
func (d *wakeDriver) SupportsListener() bool { return false }

// SupportsListenNotify returns false, so that River writes no notifications to disk.
func (d *wakeDriver) SupportsListenNotify() bool { return false }
