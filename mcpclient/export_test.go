package mcpclient

import "time"

// SetClock sets the clock of a client.
func SetClock(c *Client, now func() time.Time) { c.now = now }
