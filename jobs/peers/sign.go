package peers

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sluice/flow"
)

// validity is how far the time in a request may be from the time of its check. Both
// are read from the database's clock.
const validity = 10 * time.Second

// Headers of a request. They hold all of its parameters and are all signed.
const (
	headerFrom  = "Sluice-From"  // ID of the requesting instance
	headerTo    = "Sluice-To"    // ID of the requested instance; no other answers
	headerRun   = "Sluice-Run"   // ID of the run
	headerTime  = "Sluice-Time"  // in microseconds since 1970
	headerNonce = "Sluice-Nonce" // random, so that no two requests have the same signature
	headerMAC   = "Sluice-Mac"   // HMAC-SHA256 over the other headers, in base64
)

// signed lists the headers in the order in which they are signed.
var signed = []string{headerFrom, headerTo, headerRun, headerTime, headerNonce}

// mac returns the signature of a request. Each field is preceded by its length, so
// that different fields never have the same encoding.
func (p *Peers) mac(h http.Header) []byte {
	mac := hmac.New(sha256.New, p.key)
	for _, name := range signed {
		value := h.Get(name)
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
		mac.Write([]byte(value))
	}
	return mac.Sum(nil)
}

// sign sets the headers of a request.
func (p *Peers) sign(h http.Header, to string, runID flow.RunID) {
	h.Set(headerFrom, p.cfg.Instance)
	h.Set(headerTo, to)
	h.Set(headerRun, string(runID))
	h.Set(headerTime, strconv.FormatInt(p.cfg.Now().UnixMicro(), 10))
	h.Set(headerNonce, rand.Text())
	h.Set(headerMAC, base64.StdEncoding.EncodeToString(p.mac(h)))
}

// Reasons to reject a request. The response does not tell them apart.
var (
	errForged      = errors.New("the signature is wrong")
	errWrongTarget = errors.New("the request is for another instance")
	errExpired     = errors.New("the request has expired or is from the future")
	errReplayed    = errors.New("the request is a replay")
)

// verify checks a request. It checks the signature first, so that nothing can be
// learned or caused without the key.
func (p *Peers) verify(h http.Header) error {
	given, err := base64.StdEncoding.DecodeString(h.Get(headerMAC))
	if err != nil || !hmac.Equal(given, p.mac(h)) {
		return errForged
	}
	if h.Get(headerTo) != p.cfg.Instance {
		return errWrongTarget
	}
	at, err := strconv.ParseInt(h.Get(headerTime), 10, 64)
	if err != nil {
		return errForged
	}
	now := p.cfg.Now()
	if now.Sub(time.UnixMicro(at)).Abs() > validity {
		return errExpired
	}
	if !p.replays.add([sha256.Size]byte(given), now) {
		return errReplayed
	}
	return nil
}

// replayCache remembers the signatures of accepted requests until they expire.
type replayCache struct {
	mu        sync.Mutex
	seenAt    map[[sha256.Size]byte]time.Time
	lastSweep time.Time
}

// add remembers a signature and reports whether it is new. A request may be validity
// early and is then valid for twice that, so a signature is kept for as long.
func (c *replayCache) add(mac [sha256.Size]byte, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.lastSweep) > validity {
		c.lastSweep = now
		for old, at := range c.seenAt {
			if now.Sub(at) > 2*validity {
				delete(c.seenAt, old)
			}
		}
	}
	if _, found := c.seenAt[mac]; found {
		return false
	}
	c.seenAt[mac] = now
	return true
}
