package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// peersDir holds the other programs, relative to the repository.
const peersDir = "bench/peers"

// buildPeers installs and builds the other programs, in the versions of the lock files.
func (b *benchmark) buildPeers() error {
	if err := command(peersDir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	b.peersBuilt = filepath.Join(b.dir, "peers") + "/"
	return command(peersDir, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.peersBuilt, "./dbos", "./restate")
}

// peerCandidates returns the other programs, on the same databases as Sluice. Restate has a store of its own.
func (b *benchmark) peerCandidates(w workload) []candidate {
	list := []candidate{{"Restate", "", b.restate}}
	if w.model == "" {
		list = append(list, candidate{"Node-RED", "", b.nodeRED})
	}
	if slices.ContainsFunc(b.on, func(p platform) bool { return !p.postgres }) {
		list = append(list, candidate{"DBOS, SQLite", "SQLite", func(w workload) (*subject, error) { return b.startDBOS("DBOS, SQLite", "", 0, w) }})
	}
	if slices.ContainsFunc(b.on, func(p platform) bool { return p.postgres }) {
		list = append(list, candidate{"DBOS, PostgreSQL", "PostgreSQL", func(w workload) (*subject, error) {
			return b.startDBOS("DBOS, PostgreSQL", b.database(), b.postgres.PID(), w)
		}})
	}
	return list
}

// startDBOS starts the program in peers/dbos, on a new SQLite file if url is "".
func (b *benchmark) startDBOS(name, url string, postmaster int, w workload) (*subject, error) {
	if url == "" {
		dir, err := os.MkdirTemp(b.dir, "dbos-")
		if err != nil {
			return nil, err
		}
		url = "sqlite:" + filepath.Join(dir, "dbos.db")
	}
	s, out, err := startPeer(name, exec.Command(b.peersBuilt+"dbos", w.args("-database", url)...))
	if err != nil {
		return nil, err
	}
	s.postmaster = postmaster
	s.do = postNames(head("POST", "/", "none"), func(name string) []string { return []string{w.want(name)} })
	return s, s.await(out, func() string {
		_, rest, _ := strings.Cut(out.String(), "listening on ")
		addr, _, _ := strings.Cut(rest, "\n")
		return addr
	})
}

// args appends the flags that tell a program in peers what to do.
func (w workload) args(args ...string) []string {
	if w.service != "" {
		args = append(args, "-call", w.service)
	}
	if w.model != "" {
		args = append(args, "-model", w.model)
	}
	return args
}

// restate starts the server of Restate on an empty directory with its default settings, and the service in peers/restate, whose steps the server records.
func (b *benchmark) restate(w workload) (*subject, error) {
	dir, err := os.MkdirTemp(b.dir, "restate-")
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(peersDir, "node_modules/@restatedev/restate-server-*/bin/restate-server"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("npm installed no server of Restate for this machine: %v", err)
	}
	var ingress, admin, node, service string
	for _, addr := range []*string{&ingress, &admin, &node, &service} {
		if *addr, err = freeAddr(); err != nil {
			return nil, err
		}
	}
	worker, workerOut, err := startPeer("Restate", exec.Command(b.peersBuilt+"restate", w.args("-listen", service)...))
	if err != nil {
		return nil, err
	}
	if err := worker.await(workerOut, func() string { return service }); err != nil {
		return nil, err
	}
	cmd := exec.Command(found[0], "--base-dir", dir)
	cmd.Env = append(os.Environ(), "RESTATE_INGRESS__BIND_ADDRESS="+ingress, "RESTATE_ADMIN__BIND_ADDRESS="+admin, "RESTATE_BIND_ADDRESS="+node,
		"RESTATE_LOG_FILTER=warn", "DO_NOT_TRACK=1")
	s, out, err := startPeer("Restate", cmd)
	if err != nil {
		worker.kill()
		return nil, err
	}
	server := s.kill
	s.kill = func() { server(); worker.kill() }
	s.pids = append(s.pids, worker.pids...)
	s.do = postNames(head("POST", "/Bench/Run", "none"), func(name string) []string { return []string{w.want(name)} })
	return s, s.await(out, func() string {
		body := strings.NewReader(`{"uri":"http://` + service + `"}`)
		resp, err := http.Post("http://"+admin+"/deployments", "application/json", body)
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return ""
		}
		return ingress
	})
}

// nodeRED starts Node-RED with a flow like the workload's: HTTP in, template or
// HTTP request, HTTP response. It records nothing, so it shows what the bare work costs;
// a program that can lose no run is compared with DBOS.
func (b *benchmark) nodeRED(w workload) (*subject, error) {
	dir, err := os.MkdirTemp(b.dir, "node-red-")
	if err != nil {
		return nil, err
	}
	flows := filepath.Join(dir, "flows.json")
	data, err := json.Marshal(nodeREDFlow(w))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(flows, data, 0o600); err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	node, err := nodeProgram()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, "node_modules/node-red/red.js", "-s", "node-red/settings.js", "-u", dir)
	cmd.Dir = peersDir
	_, port, _ := net.SplitHostPort(addr)
	cmd.Env = append(os.Environ(), "BENCH_FLOWS="+flows, "BENCH_PORT="+port, "NODE_ENV=production")
	s, out, err := startPeer("Node-RED", cmd)
	if err != nil {
		return nil, err
	}
	s.do = postNames(head("POST", "/run", "none"), func(name string) []string {
		if w.service != "" {
			return []string{`{"name":"` + name + `"}`} // the answer of the service
		}
		return []string{w.want(name)}
	})
	return s, s.await(out, func() string {
		if !strings.Contains(out.String(), "Started flows") { // before, it answers 404
			return ""
		}
		return addr
	})
}

// nodeREDFlow returns a workload in the format of Node-RED: nodes that name their
// successors in wires.
func nodeREDFlow(w workload) []object {
	begin := object{"id": "in", "z": "tab", "type": "http in", "url": "/run", "method": "post", "wires": [][]string{{"middle"}}}
	answer := object{"id": "out", "z": "tab", "type": "http response", "statusCode": "200", "headers": object{"content-type": "application/json"}, "wires": []any{}}
	flow := []object{{"id": "tab", "type": "tab", "label": "bench"}, begin, answer}
	if w.service == "" {
		return append(flow, object{"id": "middle", "z": "tab", "type": "template", "field": "payload", "fieldType": "msg", "format": "text", "syntax": "mustache",
			"template": `{"outputs":{"text":"Hello {{payload.name}}!"}}`, "output": "str", "wires": [][]string{{"out"}}})
	}
	// Headers of the service's response must not become those of this one.
	return append(flow,
		object{"id": "middle", "z": "tab", "type": "http request", "method": "POST", "ret": "txt", "url": w.service, "persist": true, "wires": [][]string{{"plain"}}},
		object{"id": "plain", "z": "tab", "type": "change", "rules": []object{{"t": "delete", "p": "headers", "pt": "msg"}}, "wires": [][]string{{"out"}}})
}

// nodeProgram finds the Node.js that the lock file names for this machine, or
// else the installed one.
func nodeProgram() (string, error) {
	found, err := filepath.Glob(filepath.Join(peersDir, "node_modules/node-linux-*/bin/node"))
	if err != nil || len(found) == 0 {
		return exec.LookPath("node")
	}
	return filepath.Abs(found[0])
}

// freeAddr returns a free address. Another program could take it meanwhile.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// startPeer starts a program that the kernel ends together with this one. Its output is
// kept, because that is where it prints its address and its errors.
func startPeer(name string, cmd *exec.Cmd) (*subject, *output, error) {
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	s := &subject{name: name, pids: []int{cmd.Process.Pid}}
	s.kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	s.stop = func() error { s.kill(); return nil }
	return s, out, nil
}

// await waits until a peer accepts connections. addr returns its address, or "" while
// it is not ready. A program that ends early is reported after a minute with its output.
func (s *subject) await(out *output, addr func() string) error {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if a := addr(); a != "" {
			if w, err := dial(a); err == nil {
				w.close()
				s.addrs = []string{a}
				return nil
			}
		}
	}
	s.kill()
	return fmt.Errorf("%s was not ready within a minute:\n%s", s.name, out)
}
