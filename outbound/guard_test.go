package outbound

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	everything := "0.0.0.0/0, ::/0"
	for _, c := range []struct {
		allow, target string
		want          bool
	}{
		{"", "93.184.216.34:80", true},
		{"", "93.184.216.34:22", true},
		{"", "[2606:4700::1111]:443", true},
		{"", "127.0.0.1:80", false},
		{"", "[::1]:80", false},
		{"", "[64:ff9b::808:808]:80", false},
		{"127.0.0.0/8", "127.0.0.1:80", true},
		{"127.0.0.0/8", "[::1]:80", false},
		{"::1", "[::1]:80", true},
		{"10.1.2.3", "10.1.2.3:5432", true},
		{"10.1.2.3", "10.1.2.4:5432", false},
		{"fd00::/8", "[fd12::1]:80", true},
		{"fd00::/8", "[fd00:ec2::254]:80", false},
		{"fd00::/8", "[fd20:ce::254]:80", false},
		{"100.64.0.0/10", "100.100.100.201:80", true},
		{"100.64.0.0/10", "100.100.100.200:80", false},
		{"168.63.129.16", "168.63.129.16:80", false},
		{"169.254.0.0/16", "169.254.169.254:80", false},
		{"169.254.169.254", "169.254.169.254:80", false},
		{"fe80::/10", "[fe80::1]:80", false},
		{"fe80::/10", "[fe80::1%lo]:80", false},
		{everything, "169.254.169.254:80", false},
		{everything, "[fe80::1]:80", false},
		{everything, "[fd00:ec2::254]:80", false},
		{everything, "[::ffff:127.0.0.1]:80", false},
		{everything, "[::7f00:1]:80", false},
		{everything, "[2002:a9fe:a9fe::1]:80", false},
		{everything, "[64:ff9b::a9fe:a9fe]:80", false},
		{everything, "[64:ff9b::808:808]:80", true},
		{everything, "10.0.0.1:80", true},
		{"64:ff9b::/96", "[64:ff9b::808:808]:80", true},
		{"64:ff9b::/96", "[64:ff9b::7f00:1]:80", false},
		{"64:ff9b::/96, 127.0.0.1", "[64:ff9b::7f00:1]:80", true},
	} {
		allow, err := ParseAllowPrivate(c.allow)
		if err != nil {
			t.Fatal(err)
		}
		g := newGuard(allow)
		g.setEndpoints(nil)
		if got := g.permits(addr(c.target), false); got != c.want {
			t.Errorf("allow %q: permits(%s) = %v, want %v", c.allow, c.target, got, c.want)
		}
		if err := g.control(false)("tcp4", c.target, nil); (err == nil) != c.want {
			t.Errorf("allow %q: control(%s) = %v, want allowed %v", c.allow, c.target, err, c.want)
		}
	}
}

func TestGuardNetworks(t *testing.T) {
	t.Parallel()
	g := newGuard(prefixes("0.0.0.0/0"))
	g.setEndpoints([]netip.AddrPort{addr("127.0.0.1:11434")})
	for _, c := range []struct{ network, address string }{
		{"udp4", "93.184.216.34:53"}, {"unix", "/run/x.sock"}, {"ip4", "93.184.216.34"}, {"tcp4", "example.com:80"},
		{"tcp4", ""}, {"udp4", "127.0.0.1:11434"},
	} {
		for _, provider := range []bool{false, true} {
			if err := g.control(provider)(c.network, c.address, nil); !errors.Is(err, errBlocked) {
				t.Errorf("control(%s, %s) = %v, want blocked", c.network, c.address, err)
			}
		}
	}
}

func TestParseAllowPrivate(t *testing.T) {
	t.Parallel()
	got, err := ParseAllowPrivate(" 10.0.0.0/8,192.168.1.5 ,, fd00::/8,::1,")
	if err != nil || len(got) != 4 || got[1].String() != "192.168.1.5/32" || got[3].String() != "::1/128" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseAllowPrivate("  "); err != nil || len(got) != 0 {
		t.Errorf("empty value: %v, %v", got, err)
	}
	for _, bad := range []string{
		"localhost", "10.0.0.0/33", "10.0.0/8", "10.0.0.1/8", "10.0.0.0-10.0.0.9", "10.0.0.0/8;192.168.0.0/16", "*",
		"::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "fe80::1%eth0", "127.1", "010.0.0.1", "10.0.0.1:80", "0x7f.0.0.1",
	} {
		if got, err := ParseAllowPrivate("10.0.0.0/8," + bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestNewRefusesZeroValues(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{AllowPrivate: []netip.Prefix{{}}}); err == nil {
		t.Error("an empty range was accepted")
	}
	if _, err := New(Config{AllowEndpoints: []netip.AddrPort{{}}}); err == nil {
		t.Error("an empty endpoint was accepted")
	}
}

func TestAllowedPrivateRange(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("inside")) })
	c := newClient(t, loopback())
	if got := mustDo(t, c, Request{URL: s.URL}); string(got.Body) != "inside" {
		t.Errorf("got %q", got.Body)
	}
	if err := c.CheckURL(s.URL); err != nil {
		t.Error(err)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
	})
	c := newClient(t, Config{AllowEndpoints: []netip.AddrPort{serverAddr(s)}})

	mustDo(t, c, Request{URL: s.URL, Provider: true})
	t.Run("only_for_providers", func(t *testing.T) {
		// The connection of the request above is idle now and must not be lent.
		_, err := c.Do(t.Context(), Request{URL: s.URL})
		wantKind(t, err, ClassBlocked)
	})
	t.Run("only_that_port", func(t *testing.T) {
		_, err := c.Do(t.Context(), Request{URL: newServer(t, nil).URL, Provider: true})
		wantKind(t, err, ClassBlocked)
	})
	t.Run("no_redirects", func(t *testing.T) {
		got := mustDo(t, c, Request{URL: s.URL + "/away", Provider: true, MaxRedirects: 3})
		if got.Status != http.StatusFound {
			t.Errorf("status %d", got.Status)
		}
	})
	t.Run("never_link_local", func(t *testing.T) {
		never := []netip.AddrPort{addr("169.254.169.254:80"), addr("[fe80::1%lo]:80"), addr("[fd00:ec2::254]:80")}
		g := newClient(t, Config{AllowEndpoints: never}).guard
		for _, target := range never {
			if g.permits(target, true) {
				t.Errorf("%s is permitted", target)
			}
		}
	})
	t.Run("by_name", func(t *testing.T) {
		c := newClient(t, Config{AllowEndpoints: []netip.AddrPort{serverAddr(s)}, Resolver: newResolver(everythingIsLocal)})
		req := Request{URL: "http://models.example" + portOf(s), Provider: true}
		mustDo(t, c, req)
		c.SetEndpoints(nil) // closes the idle connection too
		_, err := c.Do(t.Context(), req)
		wantKind(t, err, ClassBlocked)
	})
}
