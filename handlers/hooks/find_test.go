package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"sluice/flow/triggers"
)

func TestLookups_share_only_reads_that_begin_after_the_request(t *testing.T) {
	t.Parallel()
	begun, proceed := make(chan int), make(chan struct{})
	reads := 0 // one at a time
	l := &lookups{reads: map[string]*lookup{}, find: func(context.Context, string) (*triggers.Trigger, string, error) {
		reads++
		n := reads
		begun <- n
		<-proceed
		return &triggers.Trigger{}, fmt.Sprint(n), nil
	}}
	results := make(chan string, 10)
	ask := func() {
		_, hash, err := l.of(t.Context(), "a")
		if err != nil {
			t.Error(err)
		}
		results <- hash
	}
	go ask()
	<-begun // the first read has begun: requests from now on wait for the second
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Go(func() {
			ask()
		})
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.of(canceled, "a"); !errors.Is(err, context.Canceled) { // registers like the others; no read ends before "proceed"
		t.Error(err)
	}
	proceed <- struct{}{}
	if first := <-results; first != "1" {
		t.Errorf("the first request got read %s", first)
	}
	go func() {
		for range begun { // the second, and a third for those that came during it
			proceed <- struct{}{}
		}
	}()
	waiting.Wait()
	for range 5 {
		if n := <-results; n == "1" {
			t.Error("a request got a read that began before it")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.reads) != 0 {
		t.Error("a read is kept that no request waits for")
	}
}
