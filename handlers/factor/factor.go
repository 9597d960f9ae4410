// Package factor makes and checks second factors: time-based one-time passwords (RFC 6238) and recovery codes.
//
// It owns the format of secrets, codes and the picture that authenticator apps read. It must not know users or
// where secrets are stored.
package factor

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238: authenticator apps support only this
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
)

// Parameters of codes, which are those that all authenticator apps support.
const (
	Period        = 30 * time.Second
	digits        = 6
	modulus       = 1_000_000
	secretBytes   = 20
	RecoveryCodes = 10
	// window is how many periods a code may be early or late, because clocks differ.
	window = 1
)

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewSecret returns a random secret in base32.
func NewSecret() string {
	b := make([]byte, secretBytes)
	rand.Read(b) //nolint:errcheck // it never fails
	return encoding.EncodeToString(b)
}

// Code returns the code of a secret for a time step, the number of periods since 1970.
func Code(secret string, step int64) (string, error) {
	key, err := encoding.DecodeString(secret)
	if err != nil {
		return "", fmt.Errorf("read the secret of a second factor: %w", err)
	}
	return code(key, step), nil
}

func code(key []byte, step int64) string {
	h := hmac.New(sha1.New, key)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(step))) //nolint:errcheck // it never fails
	sum := h.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", digits, n%modulus)
}

// Match returns the time step whose code was entered, if it is a current one. The caller refuses steps that were
// used before.
func Match(secret, entered string, now time.Time) (step int64, ok bool, err error) {
	key, err := encoding.DecodeString(secret)
	if err != nil {
		return 0, false, fmt.Errorf("read the secret of a second factor: %w", err)
	}
	entered = strings.ReplaceAll(strings.TrimSpace(entered), " ", "")
	at := now.Unix() / int64(Period/time.Second)
	for s := at - window; s <= at+window; s++ { // all, so that the time does not depend on the code
		if subtle.ConstantTimeCompare([]byte(code(key, s)), []byte(entered)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok, nil
}

// IsCode reports whether a text has the form of a code, as opposed to a recovery code.
func IsCode(entered string) bool {
	entered = strings.ReplaceAll(strings.TrimSpace(entered), " ", "")
	_, err := strconv.ParseUint(entered, 10, 32)
	return err == nil && len(entered) == digits
}

// URI returns the address that authenticator apps read from the picture.
func URI(secret, issuer, account string) string {
	query := url.Values{"secret": {secret}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+account) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// QR returns a QR code as the data of an SVG path, and the length of its side in units.
func QR(text string) (path string, side int, err error) {
	picture, err := qr.Encode(text, qr.M, qr.Unicode)
	if err != nil {
		return "", 0, fmt.Errorf("draw a QR code: %w", err)
	}
	var b strings.Builder
	side = picture.Bounds().Dx()
	for y := range side {
		for x := range side {
			if r, _, _, _ := picture.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return b.String(), side, nil
}

// NewRecovery returns new recovery codes, which work once each. A code has 80 random bits, so that its hash cannot
// be guessed.
func NewRecovery() []string {
	list := make([]string, RecoveryCodes)
	for i := range list {
		b := make([]byte, 10)
		rand.Read(b) //nolint:errcheck // it never fails
		s := strings.ToLower(encoding.EncodeToString(b))
		list[i] = s[:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:]
	}
	return list
}

// Normalize returns a recovery code as NewRecovery wrote it, whatever spaces, hyphens and case were entered.
func Normalize(entered string) string {
	s := strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(entered)))
	if len(s) != 16 {
		return ""
	}
	return s[:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:]
}
