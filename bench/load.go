package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is the result of calls by concurrent callers. Its callers are closed-loop:
// each sends its next request only after the previous response, so the rate adapts
// to what the server can do.
type load struct {
	took   time.Duration
	times  []time.Duration // of each correct response, ascending
	errors int
}

// call makes the nth request of a caller and checks the response.
type call func(c *httpConn, caller, n int) error

// maxErrors is the number of errors after which a caller gives up: a server that rejects
// everything would otherwise seem fast.
const maxErrors = 100

// repeat lets concurrent callers call f again and again until limit has passed or,
// if maxCalls is not 0, all callers together have made so many calls. f returns the
// time to record. The first error of each caller is printed.
func repeat(callers int, limit time.Duration, maxCalls int, f func(caller, n int) (time.Duration, error)) *load {
	l := &load{}
	var mu sync.Mutex
	var running sync.WaitGroup
	var calls atomic.Int64
	start := time.Now()
	for i := range callers {
		running.Go(func() {
			times, errors := make([]time.Duration, 0, 4096), 0
			for n := 0; errors <= maxErrors && (limit == 0 || time.Since(start) < limit) && (maxCalls == 0 || calls.Add(1) <= int64(maxCalls)); n++ {
				took, err := f(i, n)
				if err == nil {
					times = append(times, took)
				} else if errors++; errors == 1 {
					fmt.Fprintf(os.Stderr, "  caller %d: %v\n", i, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			l.times = append(l.times, times...)
			l.errors += errors
		})
	}
	running.Wait()
	l.took = time.Since(start)
	slices.Sort(l.times)
	return l
}

// timed returns the time that f takes, measured with the monotonic clock.
func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// drive lets callers make calls, each on a connection of its own, until the
// limit has passed or, if maxCalls is not 0, so many calls were made by all. The
// callers share the addresses evenly. All connections are opened before the first call,
// so that connecting is not measured.
func drive(addrs []string, callers int, limit time.Duration, maxCalls int, do call) (*load, error) {
	conns, closeAll, err := dialAll(addrs, callers)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	return repeat(callers, limit, maxCalls, func(i, n int) (time.Duration, error) {
		return timed(func() error { return do(conns[i], i, n) })
	}), nil
}

// dialAll opens a connection for each caller.
func dialAll(addrs []string, callers int) (conns []*httpConn, closeAll func(), err error) {
	closeAll = func() {
		for _, c := range conns {
			c.close()
		}
	}
	for i := range callers {
		c, err := dial(addrs[i%len(addrs)])
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, c)
	}
	return conns, closeAll, nil
}

// requireCorrect turns incorrect responses into an error.
func requireCorrect(l *load, err error) (*load, error) {
	if err == nil && l.errors > 0 {
		err = fmt.Errorf("%d responses were incorrect", l.errors)
	}
	return l, err
}

// unexpected describes a response with an unexpected status. The body usually has a
// problem document that explains it.
func unexpected(status int, body []byte, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("status %d: %.500s", status, body)
}

// rate returns the correct responses per second.
func (l *load) rate() float64 { return float64(len(l.times)) / l.took.Seconds() }

// percentile returns the time within which a share of the calls completed.
func (l *load) percentile(share float64) time.Duration {
	if len(l.times) == 0 {
		return 0
	}
	return l.times[min(len(l.times)-1, int(share*float64(len(l.times))))]
}

// ms formats a duration in milliseconds with about three digits.
func ms(d time.Duration) string {
	f := float64(d) / float64(time.Millisecond)
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f ms", f)
	case f >= 10:
		return fmt.Sprintf("%.1f ms", f)
	}
	return fmt.Sprintf("%.2f ms", f)
}

// count formats a number with commas between thousands.
func count(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
