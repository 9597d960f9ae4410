package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is what callers did together.
type load struct {
	took   time.Duration
	times  []time.Duration // of each right answer, ascending
	errors int
}

// call makes the nth request of a caller and checks the answer.
type call func(w *wire, caller, n int) error

// drive lets callers make calls, each on a connection of its own, until the
// time is over or, where most is not 0, so many calls were made by all.
func drive(addr string, callers int, limit time.Duration, most int, do call) (*load, error) {
	return driveAll([]string{addr}, callers, limit, most, do)
}

// driveAll is drive on several addresses, which the callers share evenly.
func driveAll(addrs []string, callers int, limit time.Duration, most int, do call) (*load, error) {
	l := &load{}
	var mu sync.Mutex
	var all sync.WaitGroup
	var taken atomic.Int64
	wires := make([]*wire, callers)
	for i := range wires {
		w, err := dial(addrs[i%len(addrs)])
		if err != nil {
			return nil, err
		}
		defer w.close()
		wires[i] = w
	}
	begun := time.Now()
	for i, w := range wires {
		all.Go(func() {
			times, errors := make([]time.Duration, 0, 4096), 0
			for n := 0; (limit == 0 || time.Since(begun) < limit) && (most == 0 || taken.Add(1) <= int64(most)); n++ {
				at := time.Now()
				if err := do(w, i, n); err != nil {
					if errors++; errors == 1 {
						fmt.Fprintf(os.Stderr, "  caller %d: %v\n", i, err)
					}
					if errors > 100 {
						break
					}
					continue
				}
				times = append(times, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			l.times = append(l.times, times...)
			l.errors += errors
		})
	}
	all.Wait()
	l.took = time.Since(begun)
	slices.Sort(l.times)
	return l, nil
}

// flawless makes wrong answers an error.
func flawless(l *load, err error) (*load, error) {
	if err == nil && l.errors > 0 {
		err = fmt.Errorf("%d answers were wrong", l.errors)
	}
	return l, err
}

// unexpected words an answer that is not the one that was wanted.
func unexpected(status int, body []byte, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("status %d: %.500s", status, body)
}

func (l *load) rate() float64 { return float64(len(l.times)) / l.took.Seconds() }

// at is the time that a share of the calls stayed below.
func (l *load) at(share float64) time.Duration {
	if len(l.times) == 0 {
		return 0
	}
	return l.times[min(len(l.times)-1, int(share*float64(len(l.times))))]
}

// ms writes a time in milliseconds.
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

// count writes a number with commas between thousands.
func count(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
