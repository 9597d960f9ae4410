package db

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"sluice/db/dbconn"
)

func TestShareOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usable, living int
		want           dbconn.PoolSize
	}{
		{97, 1, dbconn.PoolSize{Main: 24, Reserved: 3}},
		{97, 3, dbconn.PoolSize{Main: 19, Reserved: 3}},
		{17, 1, dbconn.PoolSize{Main: 4, Reserved: 2}},
		{17, 2, dbconn.PoolSize{Main: 2, Reserved: 1}},
		{17, 3, dbconn.PoolSize{Main: 2, Reserved: 1}},
		{5, 4, dbconn.PoolSize{Main: 2, Reserved: 1}}, // too few: they wait for each other
	} {
		got := dbconn.ShareOf(c.usable, c.living)
		if got != c.want {
			t.Errorf("%d connections among %d: %+v, want %+v", c.usable, c.living, got, c.want)
		}
		if all := c.living * (got.Main + got.Reserved + dbconn.Listeners); c.usable >= 17 && all > c.usable {
			t.Errorf("%d instances would use %d of %d connections", c.living, all, c.usable)
		}
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	s := dbconn.NewSlots(1)
	if err := s.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Acquire(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a slot beyond the number: %v", err)
	}
	got := make(chan error)
	wait := func() {
		before := waiting(s)
		go func() { got <- s.Acquire(context.Background()) }()
		for waiting(s) == before {
			runtime.Gosched()
		}
	}
	wait()
	s.Resize(2)
	if err := <-got; err != nil {
		t.Errorf("after it grew: %v", err)
	}
	wait()
	s.Resize(1)
	s.Release() // two were in use, so this frees none
	if waiting(s) != 1 {
		t.Error("a slot was given that is not there any more")
	}
	s.Release()
	if err := <-got; err != nil {
		t.Errorf("after a release: %v", err)
	}
}

func waiting(s *dbconn.Slots) int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return len(s.Waiters)
}
