package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestProxies(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		trusted, header, peer string
		says                  []string
		want                  string
	}{
		"nobody is trusted":              {"", "X-Forwarded-For", "10.0.0.1:5", []string{"198.51.100.7"}, "10.0.0.1:5"},
		"a stranger's header is ignored": {"10.0.0.0/8", "X-Forwarded-For", "203.0.113.9:5", []string{"198.51.100.7"}, "203.0.113.9:5"},
		"a proxy's word counts":          {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", []string{"198.51.100.7"}, "198.51.100.7:0"},
		"the nearest that is no proxy":   {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", []string{"1.2.3.4, 198.51.100.7, 10.2.2.2"}, "198.51.100.7:0"},
		"over several headers":           {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", []string{"1.2.3.4", "198.51.100.7"}, "198.51.100.7:0"},
		"all are proxies":                {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", []string{"10.9.9.9"}, "10.9.9.9:0"},
		"no word":                        {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", nil, "10.0.0.1:5"},
		"nonsense":                       {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", []string{"unknown"}, "10.0.0.1:5"},
		"nonsense before a word":         {"10.0.0.0/8", "X-Forwarded-For", "10.0.0.1:5", []string{"unknown, 10.3.3.3"}, "10.3.3.3:0"},
		"another header":                 {"fdaa::/16", "fly-client-ip", "[fdaa::3]:5", []string{"2001:db8::7"}, "[2001:db8::7]:0"},
		"with a port":                    {"127.0.0.1", "X-Forwarded-For", "127.0.0.1:5", []string{"198.51.100.7:4711"}, "198.51.100.7:0"},
		"IPv4 in IPv6":                   {"127.0.0.1", "X-Forwarded-For", "[::ffff:127.0.0.1]:5", []string{"::ffff:198.51.100.7"}, "198.51.100.7:0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := ParseProxies(c.trusted, c.header)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = c.peer
			for _, v := range c.says {
				r.Header.Add(c.header, v)
			}
			var got string
			p.Behind(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, r)
			if got != c.want {
				t.Errorf("it asks from %s, wanted %s", got, c.want)
			}
		})
	}
	for _, bad := range []string{"10.0.0.0/33", "localhost", "10.0.0.0/8;::1"} {
		if _, err := ParseProxies(bad, ""); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
