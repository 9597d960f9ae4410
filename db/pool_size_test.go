package db

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

func TestShareOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usable, living int
		want           poolSize
	}{
		{97, 1, poolSize{main: 24, reserved: 3}},
		{97, 3, poolSize{main: 19, reserved: 3}},
		{17, 1, poolSize{main: 4, reserved: 2}},
		{17, 2, poolSize{main: 2, reserved: 1}},
		{17, 3, poolSize{main: 2, reserved: 1}},
		{5, 4, poolSize{main: 2, reserved: 1}}, // too few: they wait for each other
	} {
		got := shareOf(c.usable, c.living)
		if got != c.want {
			t.Errorf("%d connections among %d: %+v, want %+v", c.usable, c.living, got, c.want)
		}
		if all := c.living * (got.main + got.reserved + listeners); c.usable >= 17 && all > c.usable {
			t.Errorf("%d instances would use %d of %d connections", c.living, all, c.usable)
		}
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(1)
	if err := s.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.acquire(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a slot beyond the number: %v", err)
	}
	got := make(chan error)
	wait := func() {
		before := waiting(s)
		go func() { got <- s.acquire(context.Background()) }()
		for waiting(s) == before {
			runtime.Gosched()
		}
	}
	wait()
	s.resize(2)
	if err := <-got; err != nil {
		t.Errorf("after it grew: %v", err)
	}
	wait()
	s.resize(1)
	s.release() // two were in use, so this frees none
	if waiting(s) != 1 {
		t.Error("a slot was given that is not there any more")
	}
	s.release()
	if err := <-got; err != nil {
		t.Errorf("after a release: %v", err)
	}
}

func waiting(s *slots) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiters)
}
