package main

import (
	"context"
	"fmt"
	"net"

	"sluice/flow"
	"sluice/jobs/peers"
)

// instances are the connections to other instances on the same database, through which the
// text of running steps is streamed to clients of any instance. A nil *instances is valid
// and has no connections: clients of other instances then get results but no live text.
type instances struct {
	*peers.Peers
	listener net.Listener
}

// listenForPeers listens on SLUICE_PEER_ADDR. The store announces the address: it writes it
// to the instance's row with each heartbeat.
func (a *app) listenForPeers(instance string) (*instances, error) {
	if a.cfg.PeerAddr == "" {
		return nil, nil
	}
	if !a.store.IsPostgres() {
		a.log.Warn("SLUICE_PEER_ADDR has no effect on SQLite, where there is only one instance")
		return nil, nil
	}
	key, err := a.store.PeerKey()
	if err != nil {
		return nil, err
	}
	ends, err := peers.New(peers.Config{Instance: instance, Key: key, Now: a.store.Now, Log: a.log})
	if err != nil {
		return nil, err
	}
	listener, err := peers.Listen(a.cfg.PeerAddr)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_PEER_ADDR: %w", err)
	}
	a.store.PeerAddr = listener.Addr().String()
	return &instances{ends, listener}, nil
}

// follow returns the function for jobs.Config.Follow, or nil without connections.
func (p *instances) follow() func(context.Context, flow.Peer, flow.RunID, func(flow.PeerText)) error {
	if p == nil {
		return nil
	}
	return p.Follow
}

// serve serves other instances in the background; see peers.Peers.Serve.
func (p *instances) serve(pass peers.StreamFunc, failed chan<- error) {
	if p != nil {
		p.Serve(p.listener, pass, func(err error) { failed <- err })
	}
}

// close closes all connections and the listener. It may be called before serve.
func (p *instances) close() {
	if p != nil {
		p.Close()
		_ = p.listener.Close() // closed already, unless it was never served
	}
}
