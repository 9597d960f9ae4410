package jobs

import (
	"context"
	"testing"
)

func TestRamp_grows_after_unclean_end(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var r ramp
	if !r.enter(ctx, nil) {
		t.Fatal("without an unclean end, a run waits")
	}
	r.leave()
	r.begin()
	few := r.limit
	for range few {
		if !r.enter(ctx, nil) {
			t.Fatal("a run below the limit waits")
		}
	}
	entered := make(chan bool, 2)
	for range 2 {
		go func() { entered <- r.enter(ctx, nil) }()
	}
	select {
	case <-entered:
		t.Fatal("a run beyond the limit is executed")
	default:
	}
	r.leave()
	if !<-entered {
		t.Fatal("the place of an ended run is not used")
	}
	if !r.grow(4*few) || !<-entered {
		t.Fatal("the limit does not grow")
	}
	if r.grow(4 * few) {
		t.Error("there is a limit although all workers are in use")
	}
	for range 10 * few {
		r.enter(ctx, nil)
	}
	drain := make(chan struct{})
	close(drain)
	r.begin()
	if r.enter(ctx, drain) {
		t.Error("a run starts during the shutdown")
	}
}
