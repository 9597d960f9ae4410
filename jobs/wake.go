package jobs

import (
	"context"
	"database/sql"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"
)

// wakeDriver is River's SQLite driver with one hook kept: how to tell a
// producer that jobs were committed. River polls on SQLite, since InsertTx
// cannot know of the commit; with the hook a job starts about a millisecond
// after it. Upstream calls this interface private, so River is pinned, a test
// watches over it, and without the hook the poll still finds every job.
type wakeDriver struct {
	*riversqlite.Driver
	pilot *wakePilot
}

func newWakeDriver(db *sql.DB) *wakeDriver {
	return &wakeDriver{riversqlite.New(db), &wakePilot{}}
}

// SupportsListener is false: the producer is told by the hook instead.
func (d *wakeDriver) SupportsListener() bool { return false }

// SupportsListenNotify is false, which spares writing notifications to disk.
func (d *wakeDriver) SupportsListenNotify() bool { return false }

// PluginInit is needed to be asked for a pilot.
func (d *wakeDriver) PluginInit(*baseservice.Archetype) {}

// PluginPilot gives River the pilot that keeps the hook.
func (d *wakeDriver) PluginPilot() riverpilot.Pilot { return d.pilot }

type wakePilot struct {
	riverpilot.StandardPilot
	notify func(context.Context, []*rivertype.JobInsertResult)
}

// PilotInit keeps the hook.
func (p *wakePilot) PilotInit(a *baseservice.Archetype, params *riverpilot.PilotInitParams) {
	p.StandardPilot.PilotInit(a, params)
	p.notify = params.NotifyNonTxJobInsert
}

func (p *wakePilot) wake(queue string) {
	p.notify(context.Background(), []*rivertype.JobInsertResult{{Job: &rivertype.JobRow{Queue: queue}}})
}
