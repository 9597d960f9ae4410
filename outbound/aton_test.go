package outbound

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

// inetAton reads an IPv4 address as the C library does: one to four numbers,
// each decimal, octal or hexadecimal, the last filling the bytes that are left.
func inetAton(s string) (string, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return "", false
	}
	var ip uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		last := i == len(parts)-1
		if err != nil || strings.ContainsAny(part, "_bBoO") && !strings.HasPrefix(strings.ToLower(part), "0x") || !last && n > 255 {
			return "", false
		}
		if last {
			if n >= 1<<(8*(4-i)) {
				return "", false
			}
			ip |= n
		} else {
			ip |= n << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String(), true
}

func TestInetAton(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "127.1": "127.0.0.1", "2130706433": "127.0.0.1", "0x7f.1": "127.0.0.1",
		"0177.0.0.01": "127.0.0.1", "10.1.258": "10.1.1.2", "example.com": "", "256.1": "", "1.2.3.4.5": "",
	} {
		if got, _ := inetAton(s); got != want {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
}
