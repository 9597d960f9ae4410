package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
)

const (
	// scheduleMinutes is how long schedules run under faults; -rounds sets another number of minutes.
	scheduleMinutes = 3
	// schedulesOfFlow is how many schedules a flow has.
	schedulesOfFlow = 100
)

// scheduleLoad are schedules that are due every minute.
type scheduleLoad struct {
	t        *testing.T
	flows    []string
	from     time.Time // the first planned time that all schedules had
	triggers int
}

// newScheduleLoad creates a flow with schedules that all start at the same second of each minute; of a long test ten flows, which is
// as many schedules as a workspace may have.
func newScheduleLoad(t *testing.T, s *server) *scheduleLoad {
	t.Helper()
	l := &scheduleLoad{t: t}
	flows := 1
	if fleetRounds(scheduleMinutes) > scheduleMinutes {
		flows = 10
	}
	for range flows {
		l.add(s, schedulesOfFlow, object{"overlap": "allow", "catch_up": "all"})
	}
	l.from = time.Now().Truncate(time.Minute).Add(time.Minute)
	return l
}

// add creates a flow with schedules that are due every minute.
func (l *scheduleLoad) add(s *server, schedules int, config object) {
	l.t.Helper()
	c := s.client(s.key("--scope", "edit,read"))
	id := s.publish(documentOf("Planned", []object{input("n"), node("say", "template", object{"template": "For {{n}}"}), output("got")}, "n.value > say.n", "say.text > out_got.value"))
	config["cron"], config["inputs"] = "* * * * *", object{"n": object{"cel": "scheduled_at"}}
	for i := range schedules {
		c.want(200, "PUT", fmt.Sprintf("/v1/flow/%s/triggers/t%d", id, i), config)
		l.triggers++
	}
	l.flows = append(l.flows, id)
}

// plannedEvent is an event as the API returns it.
type plannedEvent struct {
	Key   string
	State string
	Code  string
	RunID string `json:"run_id"`
}

// plannedRun is a run of a schedule as the API returns it.
type plannedRun struct {
	RunID       string `json:"run_id"`
	TriggerID   string `json:"trigger_id"`
	ScheduledAt string `json:"scheduled_at"`
	Status      string
}

// listAll reads all pages of a list.
func listAll[T any](t *testing.T, c *client, path, member string) (list []T) {
	t.Helper()
	for cursor := ""; ; {
		page := map[string]json.RawMessage{}
		if err := json.Unmarshal(c.want(http.StatusOK, "GET", path+"?limit=100"+cursor, nil).body, &page); err != nil {
			t.Fatal(err)
		}
		var some []T
		if err := json.Unmarshal(page[member], &some); err != nil {
			t.Fatal(err)
		}
		list = append(list, some...)
		var next *string
		if err := json.Unmarshal(page["next_cursor"], &next); err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return list
		}
		cursor = "&cursor=" + *next
	}
}

// check fails the test unless each planned time up to until has exactly one event, and one run or a reason.
func (l *scheduleLoad) check(s *server, until time.Time) {
	l.t.Helper()
	c := s.client(s.key("--scope", "edit,read"))
	var wrong []string
	states := map[string]int{}
	for _, id := range l.flows {
		var listed struct{ Triggers []struct{ ID, Name string } }
		if err := json.Unmarshal(c.want(http.StatusOK, "GET", "/v1/flow/"+id+"/triggers", nil).body, &listed); err != nil {
			l.t.Fatal(err)
		}
		events := map[string]map[string]plannedEvent{} // by trigger and planned time
		decided := func() bool {
			for _, trigger := range listed.Triggers {
				if _, done := events[trigger.ID][until.UTC().Format("2006-01-02T15:04:05Z")]; done {
					continue
				}
				at := map[string]plannedEvent{}
				for _, e := range listAll[plannedEvent](l.t, c, "/v1/flow/"+id+"/triggers/"+trigger.Name+"/events", "events") {
					if _, twice := at[e.Key]; twice {
						wrong = append(wrong, "two events for "+trigger.Name+" at "+e.Key)
					}
					if at[e.Key] = e; e.State == "waiting" {
						return false
					}
				}
				if events[trigger.ID] = at; at[until.UTC().Format("2006-01-02T15:04:05Z")].Key == "" {
					return false
				}
			}
			return true
		}
		waitUntil(l.t, "all planned times are decided", decided)
		runs := map[string]int{}
		ended := func() bool {
			clear(runs)
			all := true
			for _, r := range listAll[plannedRun](l.t, c, "/v1/flow/"+id+"/runs", "runs") {
				runs[r.TriggerID+" "+r.ScheduledAt[:19]+"Z"]++
				all = all && r.Status == "succeeded"
			}
			return all
		}
		waitUntil(l.t, "all runs of schedules succeed", ended)
		for _, trigger := range listed.Triggers {
			for at := l.from; !at.After(until); at = at.Add(time.Minute) {
				key := at.UTC().Format("2006-01-02T15:04:05Z")
				e, found := events[trigger.ID][key]
				n := runs[trigger.ID+" "+key]
				states[e.State]++
				switch {
				case !found:
					wrong = append(wrong, "no event for "+trigger.Name+" at "+key)
				case e.State == "started" && n != 1, e.State != "started" && n != 0:
					wrong = append(wrong, fmt.Sprintf("%d runs for %s at %s, whose event is %s", n, trigger.Name, key, e.State))
				case e.State != "started" && e.Code == "":
					wrong = append(wrong, "no reason for "+trigger.Name+" at "+key)
				}
			}
		}
	}
	reportSome(l.t, wrong)
	l.t.Logf("%d schedules, planned times by state: %v", l.triggers, states)
	if states["started"] == 0 {
		l.t.Error("nothing was started, so nothing was tested")
	}
}

// random returns the source of the moments of faults, whose seed is logged.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	from := loggedSeed(t)
	return rand.New(rand.NewPCG(from, 1<<33))
}

// faults causes faults at random moments, most of them within the seconds in which the schedules are due, until planned times of the
// minutes of the test have passed. It returns the last of these.
func (l *scheduleLoad) faults(random *rand.Rand, fault func(n int)) (until time.Time) {
	l.t.Helper()
	until = l.from.Add(time.Duration(fleetRounds(scheduleMinutes)-1) * time.Minute)
	n := 0
	for ; time.Now().Before(until.Add(10 * time.Second)); n++ {
		pause := time.Duration(1000+random.IntN(14000)) * time.Millisecond
		if due := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); n%2 == 0 && due < 20*time.Second {
			pause = due + time.Duration(random.IntN(2000))*time.Millisecond
		}
		time.Sleep(pause) // the random moment itself
		fault(n)
	}
	l.t.Logf("%d faults", n)
	return until
}

// TestCrashSchedules_start_each_time_once kills the server at random moments while schedules are due every minute. Its clock is set ahead and back
// in between.
func TestCrashSchedules_start_each_time_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	s := newServer(t)
	s.faulty = true
	l := newScheduleLoad(t, s)
	env := s.env
	restart := func(skew string) {
		s.kill()
		s.env = append(env[:len(env):len(env)], skewVariable+"="+skew)
		s.start()
	}
	until := l.faults(random(t), func(n int) { restart([]string{"0s", "0s", "150s", "150s"}[n%4]) })
	restart("150s") // so that all planned times have come
	l.check(s, until)
}

// TestFleetSchedules_start_each_time_once kills and freezes three servers on PostgreSQL whose clocks differ by an hour, while schedules are due every minute.
func TestFleetSchedules_start_each_time_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	skews := []string{"0s", "1h", "-1h"}
	f := newFleet(t, fleetConfig{env: func(i int) []string { return []string{skewVariable + "=" + skews[i]} }})
	l := newScheduleLoad(t, f.servers[0])
	source := random(t)
	until := l.faults(source, func(n int) {
		i := source.IntN(len(f.servers))
		if n%4 == 3 { // longer than an instance may be silent
			f.signal(i, syscall.SIGSTOP)
			time.Sleep(25 * time.Second)
			f.signal(i, syscall.SIGCONT)
			return
		}
		f.servers[i].kill()
		f.servers[i].start()
	})
	for _, s := range f.servers {
		s.awaitReady(s.process())
	}
	l.check(f.servers[0], until)
}
