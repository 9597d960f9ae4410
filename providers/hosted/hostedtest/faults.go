package hostedtest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Fault is something that goes wrong instead of an answer.
type Fault struct {
	Method string // empty: any
	Path   string // how the path begins after /v1; empty: any
	Times  int    // how often; 0: once

	Status int
	Header http.Header
	Body   string
	// Break sends the status and the body and then cuts the connection, with
	// the promise of more.
	Break bool
	// Do writes the whole response; the rest is ignored.
	Do http.HandlerFunc
}

// Fail adds a fault. Faults are used up in order.
func (f *Fake) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault.Times = max(fault.Times, 1)
	f.faults = append(f.faults, &fault)
}

// Throttle makes the next calls fail as the platform's rate limit does; words
// such as "~9s" go into its sentence, header into Retry-After if not empty.
func (f *Fake) Throttle(times int, words, header string) {
	h := http.Header{"Content-Type": {"application/json"}}
	if header != "" {
		h.Set("Retry-After", header)
	}
	f.Fail(Fault{
		Times: times, Status: http.StatusTooManyRequests, Header: h,
		Body: `{"detail":"Request was throttled. Your rate limit resets in ` + words + `.","status":429}`,
	})
}

// intercept remembers requests, asks for the token and lets faults happen.
func (f *Fake) intercept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if fault := f.note(r, body); fault != nil {
			fault.happen(w, r)
			return
		}
		open := strings.HasPrefix(r.URL.Path, "/stream/") // its address is the key
		if !open && r.Header.Get("Authorization") != "Bearer "+Secret {
			refuse(w, http.StatusUnauthorized, "Unauthenticated", "You did not pass a valid authentication token")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// note records a request, with at most 4 KiB of its body, unless there are maxRequests
// already. It returns the first planned fault for the method and path and counts it as
// used, or nil.
func (f *Fake) note(r *http.Request, body []byte) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.requests) < maxRequests {
		kept := body[:min(len(body), 4<<10):min(len(body), 4<<10)]
		f.requests = append(f.requests, Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: kept})
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	for i, fault := range f.faults {
		if (fault.Method == "" || fault.Method == r.Method) && strings.HasPrefix(path, fault.Path) {
			if fault.Times--; fault.Times == 0 {
				f.faults = append(f.faults[:i:i], f.faults[i+1:]...)
			}
			return fault
		}
	}
	return nil
}

// happen writes the faulty response. With Break it then aborts the connection, so that
// the client gets a part of a body and no end.
func (fault *Fault) happen(w http.ResponseWriter, r *http.Request) {
	if fault.Do != nil {
		fault.Do(w, r)
		return
	}
	for name, values := range fault.Header {
		w.Header()[name] = values
	}
	if fault.Status != 0 {
		w.WriteHeader(fault.Status)
	}
	_, _ = io.WriteString(w, fault.Body) // the client may be gone
	if fault.Break {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}
