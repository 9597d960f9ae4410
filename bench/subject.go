package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// workload is a flow that callers run, and the expected response for each name.
type workload struct {
	title    string
	document []byte
	want     func(name string) string // text that the response must contain
	env      []string                 // settings of the server
	service  string                   // address that the flow calls; "" for none
	model    string                   // base URL of the model that the flow's agent asks; "" for none
	callers  []int                    // numbers of concurrent callers, each measured
}

// platform is a database and the number of Sluice processes on it.
type platform struct {
	name      string
	instances int
	postgres  bool
}

// platforms are the databases on which Sluice is measured, with the names of -on.
var platforms = []platform{{"sqlite", 1, false}, {"postgres", 1, true}, {"postgres3", 3, true}}

// title returns the name of a platform in tables.
func (p platform) title() string {
	switch {
	case !p.postgres:
		return "SQLite"
	case p.instances == 1:
		return "PostgreSQL"
	}
	return fmt.Sprintf("PostgreSQL, %d instances", p.instances)
}

// subject is a running program under a workload: Sluice in one or more processes, or
// another program. All subjects of a comparison run at the same time on the same machine,
// so each of them also suffers from whatever disturbs it.
type subject struct {
	name       string
	addrs      []string
	do         call
	pids       []int
	postmaster int // process ID of its PostgreSQL server; 0 for none
	profile    func(f func())
	stop       func() error
	kill       func()
}

// sluice starts a binary on a platform with an empty database and publishes
// the workload's flow. On PostgreSQL it may start several processes on one database, among
// which the callers are divided.
func (b *benchmark) sluice(name, binary string, on platform, w workload) (*subject, error) {
	s := &subject{name: name}
	var servers []*server
	s.kill = func() {
		for _, server := range servers {
			server.kill()
		}
	}
	s.stop = func() (err error) {
		for _, server := range servers {
			err = cmp.Or(err, server.stop())
		}
		return err
	}
	defer func() {
		if s.do == nil { // an error came before
			s.kill()
		}
	}()
	env := w.env
	if on.postgres {
		url := b.database()
		s.postmaster = b.postgres.PID()
		env = append([]string{"DATABASE_URL=" + url, "SLUICE_MASTER_KEY=" + masterKey}, env...)
	}
	for range on.instances {
		server, err := b.serve(binary, env...)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
		s.addrs, s.pids = append(s.addrs, server.addr), append(s.pids, server.cmd.Process.Pid)
	}
	s.profile = func(f func()) { b.profiling(servers[0], f) }
	if w.model != "" {
		servers[0].addModel(w.model)
	}
	id, key := servers[0].prepare(w.document)
	s.do = waiting(id, key, w.want)
	return s, nil
}

// masterKey encrypts secrets on PostgreSQL, where instances must share one.
const masterKey = "c2x1aWNlIGJlbmNoIG1hc3RlciBrZXkgMzIgYnl0ZXM="

// candidate starts a subject.
type candidate struct {
	name  string
	base  string // database in which it stores runs; "" for none
	start func(w workload) (*subject, error)
}

// groups returns what is measured together. Without -against and -peers each platform is a
// group of its own. The members of a group run at the same time
// and are measured alternately. Members of this build come first and are compared with
// each of the others.
func (b *benchmark) groups(w workload) (list [][]candidate) {
	var all []candidate
	for _, on := range b.on {
		base := "SQLite"
		if on.postgres {
			base = "PostgreSQL"
		}
		mine := candidate{"Sluice, " + on.title(), base, func(w workload) (*subject, error) {
			return b.sluice("Sluice, "+on.title(), b.binary, on, w)
		}}
		all = append(all, mine)
		group := []candidate{mine}
		if b.against != "" {
			name := "Sluice " + b.againstName + ", " + on.title()
			group = append(group, candidate{name, base, func(w workload) (*subject, error) { return b.sluice(name, b.against, on, w) }})
		}
		list = append(list, group)
	}
	if b.peers {
		return [][]candidate{append(all, b.peerCandidates(w)...)}
	}
	return list
}

// resident returns the memory of the largest process of a subject in MiB.
func (s *subject) resident() (most float64) {
	for _, pid := range s.pids {
		most = max(most, memoryOf(pid, "VmRSS:"))
	}
	return most
}

// againstBuild finds or builds the binary that this build is compared with. It is
// given as a file or as a commit.
func (b *benchmark) againstBuild(what string) (err error) {
	if info, err := os.Stat(what); err == nil && info.Mode().IsRegular() {
		b.against, err = filepath.Abs(what)
		b.againstName = filepath.Base(what)
		return err
	}
	b.againstName = what
	b.against, err = buildCommit(b.dir, what)
	return err
}
