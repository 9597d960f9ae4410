package documents

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/e2e/need"
	"sluice/sandbox"
)

// TestChild_isConfined has a reader try to read files and to reach the network.
// What the kernel of this machine cannot forbid is skipped.
func TestChild_isConfined(t *testing.T) {
	need.Time(t)
	t.Parallel()
	key := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := openPorts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(open.close)
	files := []string{"/etc/passwd", key, filepath.Dir(key), "/proc/self/environ", os.DevNull}
	engine, err := shared().engine.prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Glob(filepath.Join(engine, "*.wasm"))
	if err != nil || len(module) != 1 {
		t.Fatalf("got %v, %v", module, err)
	}
	files = append(files, module[0])
	what := attempts{Files: files, Write: []string{engine, os.TempDir()}, TCP: open.tcp, UDP: open.udp, Parent: os.Getpid()}
	if here := what.try(sandbox.State{}); here.TCP != "" || here.UDP != "" || here.Files[0] != "" || here.Files[1] != "" || here.Write[0] != "" || here.Calls[0] != "" || here.Calls[1] != "" || here.Calls[2] != "" {
		t.Fatalf("this process cannot do it either, which proves nothing: %+v", here)
	}
	got, err := tryInChild(t.Context(), engine, what)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("privileges", func(t *testing.T) {
		t.Parallel()
		if got.Held.NoNewPrivileges != "" {
			t.Errorf("no_new_privs: %s", got.Held.NoNewPrivileges)
		}
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		if got.Held.Landlock == 0 {
			t.Skipf("not available here: %s", got.Held.Files)
		}
		for i, refused := range got.Files {
			if refused == "" {
				t.Errorf("a reader can open %s", files[i])
			}
		}
		for i, refused := range got.Write {
			if refused == "" {
				t.Errorf("a reader can write to %s", what.Write[i])
			}
		}
	})
	t.Run("TCP", func(t *testing.T) {
		t.Parallel()
		if got.Held.Network != "" && got.Held.Landlock < 4 {
			t.Skipf("neither a network namespace (%s) nor Landlock 4 is available here", got.Held.Network)
		}
		if got.TCP == "" {
			t.Error("a reader can connect to loopback")
		}
	})
	t.Run("system calls", func(t *testing.T) {
		t.Parallel()
		if got.Held.Calls != "" {
			t.Skipf("not available here: %s", got.Held.Calls)
		}
		for i, refused := range got.Calls {
			if refused != "operation not permitted" {
				t.Errorf("call %d: %q", i, refused)
			}
		}
	})
	t.Run("UDP", func(t *testing.T) {
		t.Parallel()
		if got.Held.Network != "" {
			t.Skipf("a network namespace is not available here: %s", got.Held.Network)
		}
		if got.UDP == "" {
			t.Error("a reader can send to loopback")
		}
	})
}

// TestGuards holds the words against what a reader can do.
func TestGuards(t *testing.T) {
	t.Parallel()
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		list, err := Guards(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			t.Logf("%+v", g)
			if g.Name == "" || g.Detail == "" {
				t.Errorf("%+v", g)
			}
		}
		same(t, "number of guards", len(list), 4)
	})
	for name, test := range map[string]struct {
		got  attempted
		want []Guard
	}{
		"nothing holds": {attempted{Held: sandbox.State{NoNewPrivileges: "EPERM", Files: "the kernel is too old", Network: "not permitted", Calls: "the kernel is too old"}, Files: []string{""}, Calls: []string{"EPERM", ""}}, []Guard{
			{"privileges", false, "It may gain some: no_new_privs is not available: EPERM."},
			{"files", false, "It can open what Sluice can: the kernel is too old."},
			{"network", false, "It can reach what Sluice can: it has no network namespace of its own: not permitted."},
			{"system calls", false, "It can make all: the kernel is too old."},
		}},
		"Landlock alone": {attempted{Held: sandbox.State{Landlock: 4, Network: "not permitted"}, Files: []string{"EACCES"}, TCP: "EACCES", Calls: []string{"EPERM"}}, []Guard{
			{"privileges", true, "It cannot gain any (no_new_privs)."},
			{"files", true, "It cannot open any (Landlock, version 4)."},
			{"network", false, "It cannot connect over TCP (Landlock), but can send over UDP: it has no network namespace of its own: not permitted."},
			{"system calls", true, "It can make only those that it needs (seccomp)."},
		}},
		"a namespace too": {attempted{Held: sandbox.State{Landlock: 7}, Files: []string{"EACCES"}, TCP: "EACCES", UDP: "ENETUNREACH", Calls: []string{"EPERM"}}, []Guard{
			{"privileges", true, "It cannot gain any (no_new_privs)."},
			{"files", true, "It cannot open any (Landlock, version 7)."},
			{"network", true, "It has none (a namespace of its own)."},
			{"system calls", true, "It can make only those that it needs (seccomp)."},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, "guards", test.got.guards(), test.want)
		})
	}
}
