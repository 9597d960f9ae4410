// Package caller marks the requests that runs send to their own server, so that flows that call
// each other over HTTP end like subflows do, and cannot answer questions or change flows.
//
// It owns the header and both of its ends: package outbound signs it, the HTTP server verifies it. It
// knows nothing of flows and must not import their package.
package caller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Header is the name of the header. Its value is the root run, the depth and an HMAC, separated by dots.
const Header = "Sluice-Caller"

// maxValue bounds a value that is verified, in bytes.
const maxValue = 256

// Caller is a run that sends a request to its own server.
type Caller struct {
	// RootRunID is the run at the top of the tree of child runs to which the run belongs.
	RootRunID string
	// Depth counts the runs above the run that sends the request, over HTTP or as the callers of child runs.
	Depth int
}

// Sign returns the value of the header. All instances of a server have the same key.
func (c Caller) Sign(key []byte) string {
	text := c.RootRunID + "." + strconv.Itoa(c.Depth)
	return text + "." + sign(key, text)
}

// Verify returns the caller in a value of the header. ok is false if the value was not made with the key.
func Verify(key []byte, value string) (c Caller, ok bool) {
	end := strings.LastIndexByte(value, '.')
	if len(value) > maxValue || end < 0 || !hmac.Equal([]byte(value[end+1:]), []byte(sign(key, value[:end]))) {
		return Caller{}, false
	}
	root, depth, _ := strings.Cut(value[:end], ".")
	n, err := strconv.Atoi(depth)
	return Caller{RootRunID: root, Depth: n}, err == nil && n >= 0
}

// sign returns the HMAC of a text as hexadecimal digits. The prefix keeps it apart from other uses of the key.
func sign(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("caller\x00" + text))
	return hex.EncodeToString(mac.Sum(nil))
}

// Find returns the caller of a request that is about to be sent. It is called for requests to the own server only, because it
// may read the database.
type Find func(context.Context) (Caller, error)

// Context keys. Types of their own keep them from colliding with keys of other packages.
type (
	sendingKey  struct{}
	receivedKey struct{}
)

// Sending returns a context whose requests are sent by a run.
func Sending(ctx context.Context, find Find) context.Context {
	return context.WithValue(ctx, sendingKey{}, find)
}

// Sender returns the run that sends the requests of a context; nil if none does.
func Sender(ctx context.Context) Find {
	find, _ := ctx.Value(sendingKey{}).(Find)
	return find
}

// Received returns the context of a request that a run has sent.
func Received(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, receivedKey{}, c)
}

// Of returns the run that sent the request of a context; ok is false if no run did.
func Of(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(receivedKey{}).(Caller)
	return c, ok
}

// Depth returns the depth of a run that the request of a context starts: 0 unless a run sent the request.
func Depth(ctx context.Context) int {
	if c, ok := Of(ctx); ok {
		return c.Depth + 1
	}
	return 0
}
