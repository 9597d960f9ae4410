package jobs

import (
	"context"
	"database/sql"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
)

// wakeDriver is River's SQLite driver with a pilot of ours, and with a way to
// tell a producer that jobs were committed. River polls on SQLite, since
// InsertTx cannot know of the commit; with the hook a job starts about a
// millisecond after it. Upstream calls these interfaces private, so River is
// pinned, tests watch over them, and without the hook the poll still finds
// every job.
type wakeDriver struct {
	*riversqlite.Driver
	pilot *pilot
}

func newWakeDriver(db *sql.DB, write func(context.Context, func(*sql.Tx) error) error) *wakeDriver {
	return &wakeDriver{riversqlite.New(db), &pilot{write: write}}
}

// SupportsListener is false: the producer is told by the hook instead.
func (d *wakeDriver) SupportsListener() bool { return false }

// SupportsListenNotify is false, which spares writing notifications to disk.
func (d *wakeDriver) SupportsListenNotify() bool { return false }

// PluginInit is needed to be asked for a pilot.
func (d *wakeDriver) PluginInit(*baseservice.Archetype) {}

// PluginPilot gives River the pilot.
func (d *wakeDriver) PluginPilot() riverpilot.Pilot { return d.pilot }
