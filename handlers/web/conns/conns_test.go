package conns_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/handlers/web/conns"
)

// serve starts a server and returns a channel with its error.
func serve(t *testing.T, h http.HandlerFunc) (*conns.Server, string, <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, ended := conns.New(h), make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return s, l.Addr().String(), ended
}

// call sends a request on a connection of its own.
func call(t *testing.T, address, request string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil {
		_, err = io.WriteString(c, request)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

const get, post = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"

func TestRequest(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{"get": get, "post": post} {
		t.Run("answers a client that has finished sending/"+name, func(t *testing.T) {
			t.Parallel()
			_, address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-conns.Finished(r.Context())
				if r.Context().Err() != nil {
					w.WriteHeader(http.StatusInternalServerError)
				}
			})
			c := call(t, address, request)
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("got %v, %v", resp, err)
			}
		})
	}
	t.Run("ends the context when the client resets", func(t *testing.T) {
		t.Parallel()
		begun, ended := make(chan struct{}), make(chan struct{})
		_, address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			close(ended)
		})
		c := call(t, address, get)
		<-begun
		_ = c.SetLinger(0)
		c.Close()
		<-ended
	})
	t.Run("ends the context of a stream whose client has closed", func(t *testing.T) {
		t.Parallel()
		begun, ended := make(chan struct{}), make(chan struct{})
		_, address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			ticks, stop := conns.NewTicker(r.Context(), time.Hour)
			defer stop()
			close(begun)
			for r.Context().Err() == nil {
				select {
				case <-ticks:
					_, _ = io.WriteString(w, ": ping\n\n")
					_ = http.NewResponseController(w).Flush()
				case <-r.Context().Done():
				}
			}
			close(ended)
		})
		c := call(t, address, get)
		<-begun
		c.Close()
		<-ended
	})
	t.Run("ends the context after the answer", func(t *testing.T) {
		t.Parallel()
		contexts := make(chan context.Context, 1)
		_, address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { contexts <- r.Context() })
		if _, err := http.ReadResponse(bufio.NewReader(call(t, address, get)), nil); err != nil {
			t.Fatal(err)
		}
		<-(<-contexts).Done()
	})
}

// TestShutdown ends a server under clients that call all the time, on new
// connections and on kept ones: each call that was sent is answered.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for range 5 {
		s, address, ended := serve(t, func(http.ResponseWriter, *http.Request) {})
		var answered atomic.Int64
		var clients sync.WaitGroup
		lost := make(chan error, 12)
		for i := range cap(lost) {
			clients.Go(func() {
				if err := callOn(address, i%2 == 0, &answered); err != nil {
					lost <- fmt.Errorf("client %d: %w", i, err)
				}
			})
		}
		for target := int64(200); answered.Load() < target; {
			time.Sleep(time.Millisecond)
		}
		s.Leave()
		for target := answered.Load() + 200; answered.Load() < target; { // every kept connection ends
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
		clients.Wait()
		close(lost)
		for err := range lost {
			t.Error(err)
		}
	}
}

// callOn calls until connections are no longer accepted. With keep it uses a
// connection for as long as the server does not end it.
func callOn(address string, keep bool, answered *atomic.Int64) error {
	for {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return nil
		}
		for r, more := bufio.NewReader(c), true; more; {
			if _, err := io.WriteString(c, get); err != nil {
				return err
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				return fmt.Errorf("after %d answers: %w", answered.Load(), err)
			}
			answered.Add(1)
			more = keep && !resp.Close
		}
		c.Close()
	}
}

// TestShutdownReleases checks that waiting requests are released and answered.
func TestShutdownReleases(t *testing.T) {
	t.Parallel()
	begun, released := make(chan struct{}), make(chan struct{})
	s, address, _ := serve(t, func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-released
	})
	s.OnShutdown(func() { close(released) })
	c := call(t, address, get)
	<-begun
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || !resp.Close {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestShutdownIsBounded checks that a request that does not end does not delay shutdown for
// longer than the context says.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s, address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	call(t, address, get)
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.Close()
}
