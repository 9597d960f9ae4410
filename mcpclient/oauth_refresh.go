package mcpclient

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// refreshLease bounds how long one instance refreshes before another one may try.
const refreshLease = tokenTimeout + 10*time.Second

// recheck is how long a token is used without looking whether somebody has disconnected the server.
const recheck = 10 * time.Second

// earliest returns the earlier of two times.
func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// refreshPoll is how often an instance looks whether another one has refreshed.
const refreshPoll = 250 * time.Millisecond

// reconnect returns the error of a connection that has ended.
func (s *Server) reconnect(why string) error {
	return &Error{Class: ClassAuth, Message: "The connection to " + s.Name + " has ended: " + why + " Open " + s.Name + " under Credentials and press Reconnect."}
}

// connectionToken returns an access token of a person's connection. refused is one that the server does not accept any more, or
// "". A refresh is stored before it is sent, because most authorization servers accept a refresh token once; of all instances, one
// refreshes at a time.
func (c *Client) connectionToken(ctx context.Context, s Server, refused string) (string, error) {
	held := c.tokens.of(s.key())
	held.mu.Lock()
	defer held.mu.Unlock()
	if t := held.now; t.text != "" && t.text != refused && c.now().Before(t.until) {
		return t.text, nil
	}
	held.now = token{}
	if s.Update == nil {
		return "", errors.New("mcpclient: a connection cannot be refreshed without its store")
	}
	for {
		var n *Connection
		begun := false
		err := s.Update(ctx, func(secret string) (string, error) {
			o := readOAuth(secret)
			if o == nil || o.OAuth == nil {
				return secret, s.reconnect("it was replaced.")
			}
			n, begun = o.OAuth, false
			now := c.now()
			switch {
			case n.Access != refused && n.Dead == "" && now.Before(n.Until) || n.Attempt != nil && now.Before(n.Attempt.Until):
				return secret, nil
			case n.Dead != "":
				return secret, s.reconnect(n.Dead)
			case n.Refresh == "":
				n.Dead = "its access has expired, and the service gives no longer one."
			case n.Attempt != nil && n.Attempt.Lost >= 1:
				n.Dead = "the answers of the service were lost."
			default:
				lost := 0
				if n.Attempt != nil {
					lost = n.Attempt.Lost + 1
				}
				n.Attempt, begun = &attempt{Until: now.Add(refreshLease), Lost: lost}, true
			}
			return o.write(), nil
		})
		switch {
		case err != nil:
			return "", err
		case n.Dead != "":
			return "", s.reconnect(n.Dead)
		case !begun && n.Attempt != nil && c.now().Before(n.Attempt.Until) && (n.Access == refused || !c.now().Before(n.Until)):
			if err := pause(ctx, refreshPoll); err != nil {
				return "", err
			}
			continue
		case begun:
			if n, err = c.refresh(ctx, s, n); err != nil {
				return "", err
			}
		}
		held.now = token{text: n.Access, until: earliest(n.Until, c.now().Add(recheck))}
		return n.Access, nil
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh sends the refresh that was stored, and stores the answer. Without an answer, the old token is tried once more.
func (c *Client) refresh(ctx context.Context, s Server, n *Connection) (*Connection, error) {
	answer, failed := c.askTokens(ctx, &s, n, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {n.Refresh}})
	ctx = context.WithoutCancel(ctx) // the old token may not be accepted any more
	used, now := n.Refresh, c.now()
	var out *Connection
	err := s.Update(ctx, func(secret string) (string, error) {
		o := readOAuth(secret)
		if o == nil || o.OAuth == nil || o.OAuth.Refresh != used {
			return secret, s.reconnect("it was replaced.")
		}
		out = o.OAuth
		e, isOwn := errors.AsType[*Error](failed)
		switch {
		case failed == nil:
			out.take(answer, now)
		case isOwn && e.Class == ClassAuth:
			out.Attempt, out.Dead = nil, "the service does not renew it."
		case out.Attempt == nil:
		case isOwn && e.Sent:
			out.Attempt.Until = now // lost, so that the next step may try
		case out.Attempt.Lost > 0:
			out.Attempt.Until, out.Attempt.Lost = now, out.Attempt.Lost-1
		default:
			out.Attempt = nil
		}
		return o.write(), nil
	})
	switch {
	case err != nil:
		return nil, err
	case out.Dead != "":
		return nil, s.reconnect(out.Dead)
	case failed != nil:
		return nil, failed
	}
	return out, nil
}
