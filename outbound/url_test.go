package outbound

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://example.com":                          "https://example.com",
		"HTTPS://Example.COM/A?b=c#d":                  "https://example.com/A?b=c#d",
		"http://example.com:8080/":                     "http://example.com:8080/",
		"http://example.com:65535":                     "http://example.com:65535",
		"http://my_service.internal/":                  "http://my_service.internal/",
		"http://a--b.example/":                         "http://a--b.example/",
		"https://bücher.example:8443/ü":                "https://xn--bcher-kva.example:8443/%C3%BC",
		"https://BÜCHER.example/":                      "https://xn--bcher-kva.example/",
		"https://例え.jp/":                               "https://xn--r8jz45g.jp/",
		"http://93.184.216.34/":                        "http://93.184.216.34/",
		"http://[2606:4700:4700::1111]:80/":            "http://[2606:4700:4700::1111]:80/",
		"http://10.0.0.1/":                             "http://10.0.0.1/", // an operator may allow it
		"http://1.2.3.4.example.com/":                  "http://1.2.3.4.example.com/",
		"http://4chan.example/":                        "http://4chan.example/",
		"http://0xdead.example/":                       "http://0xdead.example/",
		"http://example.com/a%20b?q=http://[::1]/@":    "http://example.com/a%20b?q=http://%5B::1%5D/@",
		`http://e.com/100%/"{x}"?q=ü|^{}%&r=%41%zz#ü"`: "http://e.com/100%25/%22%7Bx%7D%22?q=%C3%BC%7C%5E%7B%7D%25&r=%41%25zz#%C3%BC%22",
		"http://e.com?a=ü":                             "http://e.com?a=%C3%BC",
		"http://e.com/?a=b'c(d)*!;,+$":                 "http://e.com/?a=b'c(d)*!;,+$",
		"http://e.com/a#b?c#d":                         "http://e.com/a#b?c%23d",
	} {
		u, err := ParseURL(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%s became %s, want %s", raw, u, want)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for raw, want := range map[string]ErrorClass{
		"http://example.com./":                              ClassBadURL,
		"http://" + long + ".example/":                      ClassBadURL,
		"http://" + strings.Repeat("a.", 127) + "aa/":       ClassBadURL,
		"http://example.com/" + strings.Repeat("a", maxURL): ClassBadURL,
		"http://example.com/a b":                            ClassBadURL,
		"http://example.com/\x80\n":                         ClassBadURL,
		"http://exa mple.com/":                              ClassBadURL,
		"http://user@example.com/":                          ClassBadURL,
		"http://ex%61mple.com/":                             ClassBadURL,
		"http://b%C3%BCcher.example/":                       ClassBadURL,
		"http://example.com:/":                              ClassBadURL,
		"http://ｅxample.com/":                               ClassBadURL,
		"http://example。com/":                               ClassBadURL,
		"http://2130706433/":                                ClassBlocked,
		"http://127.1/":                                     ClassBlocked,
		"http://8.8.8.8./":                                  ClassBlocked,
		"http://08.8.8.8/":                                  ClassBlocked,
		"http://[::ffff:8.8.8.8]/":                          ClassBlocked,
		"http://[fe80::1%25eth0]/":                          ClassBlocked,
		"http://１.1.1.1/":                                   ClassBlocked,
	} {
		_, err := ParseURL(raw)
		if err == nil {
			t.Errorf("%q was accepted", raw)
			continue
		}
		wantKind(t, err, want)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{AllowPrivate: prefixes("10.0.0.0/8")})
	for raw, want := range map[string]bool{
		"https://example.com/": true, "http://10.0.0.1/": true, "http://93.184.216.34/": true,
		"http://192.168.0.1/": false, "http://[::1]/": false, "http://169.254.169.254/": false, "ftp://example.com/": false,
	} {
		if err := c.CheckURL(raw); (err == nil) != want {
			t.Errorf("%s: %v, want accepted %v", raw, err, want)
		}
	}
}

// FuzzParseURL checks that all parsers agree on the URLs that it accepts.
func FuzzParseURL(f *testing.F) {
	for _, host := range forbidden() {
		f.Add("http://" + host + "/")
	}
	for _, raw := range []string{"https://bücher.example:8443/ü?q#f", "http://[2606:4700::1]:80", "http://8.8.8.8:1/%2f..", "//x", ""} {
		f.Add(raw)
	}
	c, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			wantKind(t, err, ClassBadURL, ClassBlocked)
			return
		}
		checkAccepted(t, raw, u)
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && c.CheckURL(raw) == nil {
			if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.Is4In6() {
				t.Fatalf("%q leads to %s", raw, ip)
			}
		}
	})
}

func checkAccepted(t *testing.T, raw string, u *url.URL) {
	t.Helper()
	host := u.Hostname()
	if (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Opaque != "" || host == "" {
		t.Fatalf("%q was read as %#v", raw, u)
	}
	if strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r >= utf8.RuneSelf || r >= 'A' && r <= 'Z' && !strings.Contains(host, ":")
	}) {
		t.Fatalf("%q has host %q", raw, host)
	}
	if ip, ok := inetAton(host); ok && ip != host {
		t.Fatalf("%q has host %q, which the C library reads as %s", raw, host, ip)
	}
	again, err := ParseURL(u.String())
	if err != nil || again.Host != u.Host {
		if len(u.String()) <= maxURL { // percent-encoding can make it longer
			t.Fatalf("%q became %q, which is read as %v, %v", raw, u, again, err)
		}
	}
}
