package db_test

import (
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
)

// TestClock_correct gives a clock readings of the database's, each with the
// times at which it was asked for and answered.
func TestClock_correct(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	base := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	for name, c := range map[string]struct {
		readings [][3]time.Duration // asked, answered, and what the database's clock said
		want     time.Duration      // by which the clock is ahead of the machine's
	}{
		"first reading, taken in the middle":    {[][3]time.Duration{{0, 10 * ms, time.Hour + 5*ms}}, time.Hour},
		"behind":                                {[][3]time.Duration{{0, 10 * ms, 5*ms - time.Hour}}, -time.Hour},
		"a slow answer that agrees":             {[][3]time.Duration{{0, 10 * ms, 5 * ms}, {time.Second, 9 * time.Second, 8 * time.Second}}, 0},
		"one that shows it to be slow":          {[][3]time.Duration{{0, 10 * ms, 5 * ms}, {time.Second, time.Second + 10*ms, time.Second + 30*ms}}, 20 * ms},
		"one that shows it to be fast":          {[][3]time.Duration{{0, 10 * ms, 5 * ms}, {time.Second, time.Second + 10*ms, time.Second - 20*ms}}, -20 * ms},
		"the database's clock was set":          {[][3]time.Duration{{0, 0, 0}, {time.Second, time.Second, time.Hour}}, time.Hour - time.Second},
		"no answer takes no time, but this did": {[][3]time.Duration{{0, 0, 0}, {time.Second, 2 * time.Second, time.Second}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := base
			clock := dbconn.NewClock(func() time.Time { return at })
			for _, r := range c.readings {
				clock.Correct(base.Add(r[0]), base.Add(r[1]), base.Add(r[2]))
			}
			at = base.Add(time.Minute)
			if got := clock.Now().Sub(at); got != c.want {
				t.Errorf("the clock is %v ahead, want %v", got, c.want)
			}
		})
	}
}

// TestStore_Now opens one database from machines whose clocks differ.
func TestStore_Now(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	skewed := func(skew *time.Duration) *db.Store {
		cfg := cfg
		cfg.MachineNow = func() time.Time { return time.Now().Round(0).Add(*skew) } // without a monotonic part
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	near := func(s *db.Store) {
		t.Helper()
		if off := time.Since(s.Now()); off.Abs() > 10*time.Minute {
			t.Errorf("the time is %v off", off)
		}
	}
	ahead, behind := time.Hour, -time.Hour
	a, b := skewed(&ahead), skewed(&behind)
	near(a)
	near(b)
	if e, err := a.Inspect(t.Context()); err != nil || (e.Skew-time.Hour).Abs() > 10*time.Minute {
		t.Errorf("the machine's clock is said to be %v ahead, %v", e.Skew, err)
	}
	ahead = 3 * time.Hour // the machine's clock is set
	if err := a.Heartbeat(t.Context(), "a", 5); err != nil {
		t.Fatal(err)
	}
	near(a)
	if _, err := b.Recover(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	var instances int
	if err := db.Pool(b).QueryRow(t.Context(), "SELECT count(*) FROM instances").Scan(&instances); err != nil || instances != 1 {
		t.Errorf("%d instances live, %v", instances, err)
	}
}
