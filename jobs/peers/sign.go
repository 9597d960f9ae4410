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
)

// validity is how far the time in a request may be from the time of its check.
// Both are read from the database's clock.
const validity = 10 * time.Second

// Headers of a request. Everything that it says is in them, signed.
const (
	headerFrom  = "Sluice-From"  // the instance that asks
	headerTo    = "Sluice-To"    // the instance that is asked; no other answers
	headerRun   = "Sluice-Run"   // whose text is asked for
	headerTime  = "Sluice-Time"  // in microseconds since 1970
	headerNonce = "Sluice-Nonce" // makes equal requests differ
	headerMAC   = "Sluice-Mac"   // HMAC-SHA256 over the others, in base64
)

// signed are the headers in the order in which they are signed.
var signed = []string{headerFrom, headerTo, headerRun, headerTime, headerNonce}

// mac authenticates what a request says. Each field is preceded by its length,
// so that different fields never have the same encoding.
func (p *Peers) mac(h http.Header) []byte {
	mac := hmac.New(sha256.New, p.key)
	for _, name := range signed {
		value := h.Get(name)
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
		mac.Write([]byte(value))
	}
	return mac.Sum(nil)
}

// sign fills the headers of a request.
func (p *Peers) sign(h http.Header, to, runID string) {
	h.Set(headerFrom, p.cfg.Instance)
	h.Set(headerTo, to)
	h.Set(headerRun, runID)
	h.Set(headerTime, strconv.FormatInt(p.cfg.Now().UnixMicro(), 10))
	h.Set(headerNonce, rand.Text())
	h.Set(headerMAC, base64.StdEncoding.EncodeToString(p.mac(h)))
}

// Reasons to refuse a request. The answer does not tell them apart.
var (
	errForged      = errors.New("the signature is wrong")
	errWrongTarget = errors.New("the request is for another instance")
	errExpired     = errors.New("the request is too old, or from the future")
	errReplayed    = errors.New("the request was made before")
)

// verify checks a request. The signature comes first, so that nothing else can
// be learned or caused without the key.
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

// seen remembers the signatures of valid requests for as long as they are valid.
type replayCache struct {
	mu        sync.Mutex
	seenAt    map[[sha256.Size]byte]time.Time
	lastSweep time.Time
}

// add reports whether a signature is new. One that is forgotten has expired: it
// is kept for as long as a request may be early and late together.
func (s *replayCache) add(mac [sha256.Size]byte, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.lastSweep) > validity {
		s.lastSweep = now
		for old, at := range s.seenAt {
			if now.Sub(at) > 2*validity {
				delete(s.seenAt, old)
			}
		}
	}
	if _, known := s.seenAt[mac]; known {
		return false
	}
	s.seenAt[mac] = now
	return true
}
