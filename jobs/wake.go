package jobs

import (
	"database/sql"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
)

// pilotDriver is one of River's drivers with a pilot of ours. Upstream calls
// these interfaces private, so River's version is pinned and tests check what
// we rely on.
type pilotDriver[TTx any] struct {
	riverdriver.Driver[TTx]
	pilot *pilot
}

// PluginInit is needed to be asked for a pilot.
func (d *pilotDriver[TTx]) PluginInit(*baseservice.Archetype) {}

// PluginPilot gives River the pilot.
func (d *pilotDriver[TTx]) PluginPilot() riverpilot.Pilot { return d.pilot }

// wakeDriver is the driver on SQLite, where a producer can be told in memory
// that jobs were committed. River polls there, since InsertTx cannot know of
// the commit; with the hook a job starts about a millisecond after it. Without
// the hook the poll still finds every job.
type wakeDriver struct{ *pilotDriver[*sql.Tx] }

func newWakeDriver(db *sql.DB, p *pilot) *wakeDriver {
	return &wakeDriver{&pilotDriver[*sql.Tx]{riversqlite.New(db), p}}
}

// SupportsListener is false: the producer is told by the hook instead.
func (d *wakeDriver) SupportsListener() bool { return false }

// SupportsListenNotify is false, which spares writing notifications to disk.
func (d *wakeDriver) SupportsListenNotify() bool { return false }
