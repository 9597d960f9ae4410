package flow

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"api.example.com": "api.example.com", " API.Example.COM. ": "api.example.com", "api.example.com:8443": "api.example.com:8443",
		"*.example.com": "*.example.com", "*.example.com:8443": "*.example.com:8443", "*.internal.corp": "*.internal.corp", "gpu-1": "gpu-1", "my_host": "my_host",
		"bücher.example": "xn--bcher-kva.example", "*.bücher.example": "*.xn--bcher-kva.example", "192.0.2.7": "192.0.2.7", "192.0.2.7:81": "192.0.2.7:81",
		"2001:DB8::7": "2001:db8::7", "[2001:db8::7]": "2001:db8::7", "[2001:db8::7]:8443": "[2001:db8::7]:8443", "localhost:3000": "localhost:3000",
		"*.acme.github.io": "*.acme.github.io",
	} {
		if got, err := ParseHost(given); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", given, got, err, want)
		}
	}
	for _, given := range []string{
		"", "*", "*.", "*.com", "*.co.uk", "*.github.io", "*.localhost", "*.192.0.2.7", "a.*.example.com", "**.example.com", "https://api.example.com", "api.example.com/path",
		"user@api.example.com", "api.example.com:0", "api.example.com:99999", "api.example.com:", "api..example.com", "-.1", "127.1", "0x7f.1.2.3.4", "a b", "api.example.com?x", "[::1", "fe80::1%eth0",
		strings.Repeat("a.", 130) + "com",
	} {
		if got, err := ParseHost(given); err == nil {
			t.Errorf("%q: accepted as %q", given, got)
		}
	}
	if list, err := ParseHosts([]string{"b.example", "", "B.example.", "a.example"}); err != nil || !slices.Equal(list, []string{"b.example", "a.example"}) {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestAccessMay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts string
		at    string
		want  bool
	}{
		{"api.example.com", "https://api.example.com/x", true},
		{"api.example.com", "https://API.example.com.:8443/x", true},
		{"api.example.com", "https://api.example.com.evil.org", false},
		{"api.example.com", "https://evil.org/api.example.com", false},
		{"api.example.com:8443", "https://api.example.com:8443", true},
		{"api.example.com:8443", "https://api.example.com", false},
		{"api.example.com:443", "https://api.example.com", true},
		{"api.example.com:80", "http://api.example.com", true},
		{"api.example.com:443", "http://api.example.com", false},
		{"*.example.com", "https://a.example.com", true},
		{"*.example.com", "https://a.b.example.com", true},
		{"*.example.com", "https://example.com", false},
		{"*.example.com", "https://.example.com", false},
		{"*.example.com", "https://evilexample.com", false},
		{"[2001:db8::7]:8443", "https://[2001:DB8::7]:8443", true},
		{"2001:db8::7", "https://[2001:db8::7]/", true},
		{"a.example b.example", "https://b.example", true},
		{"", "https://anywhere.example", true},
	} {
		u, err := url.Parse(c.at)
		if err != nil {
			t.Fatal(err)
		}
		a := Access{Hosts: strings.Fields(c.hosts)}
		if got := a.May(HostPort(u)); got != c.want {
			t.Errorf("%q at %s: got %v", c.hosts, c.at, got)
		}
	}
	if (&Access{RefuseUnbound: true}).May("anywhere.example:443") {
		t.Error("an unbound credential is sent although that is refused")
	}
}
