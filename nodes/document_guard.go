package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"sluice/nodes/confine"
)

// Guard is one restriction of the document reader.
type Guard struct {
	Name   string // such as "files"
	On     bool
	Detail string // what is prevented, or why the guard does not hold
}

// attempts lists what a reader tries to do, for ReaderGuards and tests.
type attempts struct {
	Files []string // to open for reading
	TCP   int      // port on 127.0.0.1 to connect to
	UDP   int      // port on 127.0.0.1 to send to
}

// attempted reports how a reader is confined and why each attempt failed; empty
// for one that succeeded.
type attempted struct {
	Held     confine.State
	Files    []string
	TCP, UDP string
}

// ReaderGuards starts a reader and returns which guards hold on this machine.
func ReaderGuards(ctx context.Context) ([]Guard, error) {
	ports, err := openPorts()
	if err != nil {
		return nil, err
	}
	defer ports.close()
	got, err := tryInChild(ctx, attempts{Files: []string{os.DevNull}, TCP: ports.tcp, UDP: ports.udp})
	if err != nil {
		return nil, err
	}
	return got.guards(), nil
}

// tryInChild lets a reader try what it should not be able to do.
func tryInChild(ctx context.Context, what attempts) (*attempted, error) {
	line, err := json.Marshal(reading{Attempts: &what})
	if err != nil {
		return nil, fmt.Errorf("ask a reader: %w", err)
	}
	asked, err := spool(ctx, append(line, '\n'), strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	defer asked.close()
	answer := &limitedBuffer{left: maxChildHead}
	if err := runChild(ctx, asked.File, answer); err != nil {
		return nil, fmt.Errorf("run a reader: %w", err)
	}
	text, err := answer.understand()
	if err == nil && text.Attempted == nil {
		err = errors.New("a reader did not say what it can do")
	}
	return text.Attempted, err
}

// guards converts the attempts of a reader to guards.
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
	return []Guard{privileges, files, network}
}
