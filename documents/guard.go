package documents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"sluice/sandbox"
)

// Guard is one restriction of the document reader. Which guards are active depends on the
// kernel, its boot parameters and the container: Docker's default seccomp profile, for
// example, forbids the user namespace that removes network access.
type Guard struct {
	Name   string // such as "files"
	On     bool
	Detail string // what is prevented, or why the guard is not active
}

// attempts lists what a child tries to do, for Guards and tests.
type attempts struct {
	Files []string // to open for reading
	Write []string // directories to create a file in
	TCP   int      // port on 127.0.0.1 to connect to
	UDP   int      // port on 127.0.0.1 to send to
	// Parent is a process to send a signal to and to read the limits of.
	Parent int
}

// attempted reports how a child is confined and why each attempt failed; "" for one that
// succeeded.
type attempted struct {
	Held         sandbox.State
	Files, Write []string
	TCP, UDP     string
	Calls        []string // system calls that no reader needs: two about the parent, and uname
}

// Guards starts a child and returns which guards are active on this machine. The child
// attempts what each guard must prevent, because the version of the kernel shows only
// what it supports and not what this process may use.
func Guards(ctx context.Context) ([]Guard, error) {
	ports, err := openPorts()
	if err != nil {
		return nil, err
	}
	defer ports.close()
	got, err := tryInChild(ctx, "", attempts{Files: []string{os.DevNull}, TCP: ports.tcp, UDP: ports.udp, Parent: os.Getpid()})
	if err != nil {
		return nil, err
	}
	return got.guards(), nil
}

// tryInChild makes attempts in a child. The child loads the PDF engine from engineDir, if given.
func tryInChild(ctx context.Context, engineDir string, what attempts) (*attempted, error) {
	line, err := json.Marshal(job{Attempts: &what})
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	cmd := exec.CommandContext(ctx, sandbox.Binary())
	cmd.Env = childEnvironment(engineDir)
	cmd.Stdin = bytes.NewReader(append(line, '\n'))
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run a document reader: %w", err)
	}
	f, _, err := readFrame(bufio.NewReader(bytes.NewReader(out)))
	if err == nil && f.Attempted == nil {
		err = errors.New("the document reader did not say what it can do")
	}
	return f.Attempted, err
}

// guards converts the attempts of a child to guards.
func (a *attempted) guards() []Guard {
	privileges := Guard{"privileges", a.Held.NoNewPrivileges == "", "It cannot gain any (no_new_privs)."}
	if !privileges.On {
		privileges.Detail = "It may gain some: no_new_privs is not available: " + a.Held.NoNewPrivileges + "."
	}
	files := Guard{"files", len(a.Files) == 1 && a.Files[0] != "", fmt.Sprintf("It cannot open any (Landlock, version %d).", a.Held.Landlock)}
	if !files.On {
		files.Detail = "It can open what Sluice can: " + a.Held.Files + "."
	}
	network := Guard{"network", a.TCP != "" && a.UDP != "", "It has none (a namespace of its own)."}
	switch {
	case network.On:
	case a.TCP != "":
		network.Detail = fmt.Sprintf("It cannot connect over TCP (Landlock), but can send over UDP: it has no network namespace of its own: %s.", a.Held.Network)
	default:
		network.Detail = fmt.Sprintf("It can reach what Sluice can: it has no network namespace of its own: %s.", a.Held.Network)
	}
	calls := Guard{"system calls", len(a.Calls) > 0 && !slices.Contains(a.Calls, ""), "It can make only those that it needs (seccomp)."}
	if !calls.On {
		calls.Detail = "It can make all: " + a.Held.Calls + "."
	}
	return []Guard{privileges, files, network, calls}
}
