package worktime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/flow/worktime"
)

func TestWithLimit_ends_after_work(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, stop := worktime.WithLimit(t.Context(), 10*time.Second)
		defer stop()
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		<-child.Done()
		if took := time.Since(began); took != 10*time.Second || !worktime.Expired(child) || !worktime.Expired(ctx) {
			t.Errorf("ended after %v, expired: %v %v", took, worktime.Expired(child), worktime.Expired(ctx))
		}
	})
}

func TestWait_does_not_count(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, stop := worktime.WithLimit(t.Context(), 10*time.Second)
		defer stop()
		time.Sleep(4 * time.Second)
		first, second := worktime.Wait(ctx), worktime.Wait(ctx)
		time.Sleep(time.Hour)
		first()
		first() // counts once
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("ended while it waited")
		}
		second()
		if at, ok := ctx.Deadline(); !ok || at.Sub(began) != 2*time.Hour+10*time.Second {
			t.Errorf("deadline after %v", at.Sub(began))
		}
		<-ctx.Done()
		if took := time.Since(began); took != 2*time.Hour+10*time.Second || !worktime.Expired(ctx) {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestWithLimit_ends_with_its_parent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		ctx, stop := worktime.WithLimit(parent, time.Second)
		defer stop()
		worktime.Wait(ctx)
		cancel()
		synctest.Wait()
		if ctx.Err() == nil || worktime.Expired(ctx) {
			t.Errorf("%v, expired: %v", ctx.Err(), worktime.Expired(ctx))
		}
		early, stopEarly := context.WithTimeout(t.Context(), time.Minute)
		defer stopEarly()
		short, stopShort := worktime.WithLimit(early, time.Hour)
		defer stopShort()
		if at, _ := short.Deadline(); time.Until(at) != time.Minute {
			t.Errorf("deadline in %v", time.Until(at))
		}
	})
}

func TestWait_without_a_limit(t *testing.T) {
	t.Parallel()
	worktime.Wait(t.Context())()
}
