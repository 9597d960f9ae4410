package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sluice/documents"
	"sluice/flow"
)

// Thresholds of warnings about the machine.
const (
	minFreeSpace = 1 << 30 // bytes free on the disk
	minOpenFiles = 4096    // open files; each connection is one
)

// readerTimeout bounds the start of a document reader, even on a busy machine.
const readerTimeout = 30 * time.Second

// examineDirectory checks the data directory and reports whether the database in it can be
// checked. A missing directory is only a warning: it is normal before the first start, but
// also a sign of a disk that is not mounted.
func (c *Config) examineDirectory(f *findings) bool {
	const own = "Change its owner to the user that Sluice runs as, or set SLUICE_DATA_DIR to another directory."
	info, err := os.Stat(c.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && unix.Access(existingParent(c.DataDir), unix.W_OK|unix.X_OK) != nil:
		f.add("data directory", verdictBad, own, "%s does not exist, and %s cannot be written to.", c.DataDir, existingParent(c.DataDir))
		return false
	case errors.Is(err, fs.ErrNotExist):
		f.add("data directory", verdictWarn, "The first start creates it. If there was one, mount its disk or correct SLUICE_DATA_DIR.", "%s does not exist.", c.DataDir)
	case err != nil || !info.IsDir():
		f.add("data directory", verdictBad, "Set SLUICE_DATA_DIR to a directory.", "%s is not a directory.", c.DataDir)
		return false
	case unix.Access(c.DataDir, unix.R_OK|unix.W_OK|unix.X_OK) != nil:
		f.add("data directory", verdictBad, own, "%s cannot be read and written.", c.DataDir)
		return false
	case info.Mode().Perm()&0o077 != 0:
		f.add("data directory", verdictWarn, "chmod 700 "+c.DataDir, "Other users of this machine can list %s.", c.DataDir)
	default:
		f.add("data directory", verdictOK, "", "%s is accessible only to its owner.", c.DataDir)
	}
	f.user(c.DataDir, info)
	f.space(c.DataDir)
	return true
}

// user reports the owner of the directory if it is another user.
func (f *findings) user(dir string, info fs.FileInfo) {
	if info == nil {
		return
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		f.add("user", verdictWarn, "Run commands as that user: the server may be unable to read files that another user creates there.", "%s belongs to user %d, and this is user %d.", dir, s.Uid, os.Geteuid())
	}
}

// existingParent returns the nearest existing parent directory of a path.
func existingParent(path string) string {
	for {
		path = filepath.Dir(path)
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
	}
}

// space reports the free disk space.
func (f *findings) space(dir string) {
	free, err := freeSpace(dir)
	if err != nil {
		return
	}
	state, advice := verdictOK, ""
	if free < minFreeSpace {
		state, advice = verdictBad, "Free some space, or shorten SLUICE_RETENTION: on a full disk new runs are rejected with storage_full."
	}
	f.add("disk", state, advice, "%s free.", flow.Size(free))
}

// examineSystem reports a limit on open files that is too low for many connections.
func (c *Config) examineSystem(f *findings) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur < minOpenFiles {
		f.add("open files", verdictWarn, "Set ulimit -n 65536, or LimitNOFILE=65536 in the service.", "The limit is %d, and each connection uses one.", limit.Cur)
	}
}

// readerAdvice explains how to enable each guard of the document reader.
var readerAdvice = map[string]string{
	"privileges":   "",
	"files":        "Use Linux 5.13 or newer with Landlock among its security modules (/sys/kernel/security/lsm).",
	"system calls": "Use a kernel with seccomp filters (CONFIG_SECCOMP_FILTER).",
	"network":      "Permit user namespaces: RestrictNamespaces=user net in the systemd unit, user.max_user_namespaces above 0, or the container's seccomp profile.",
}

// reader reports how the process that reads documents is sandboxed. Parsers of PDF and
// Office files are the largest attack surface, so they run in a child process without
// access to files, network and privileges. The kernel determines which guards work.
func (f *findings) reader(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readerTimeout)
	defer cancel()
	guards, err := documents.Guards(ctx)
	if err != nil {
		f.add("document reader", verdictBad, "Documents and web pages cannot be read until this is fixed.", "It cannot be started: %v.", err)
		return
	}
	for _, g := range guards {
		state, advice := verdictOK, ""
		if !g.On {
			state, advice = verdictWarn, readerAdvice[g.Name]
		}
		f.add("reader's "+g.Name, state, advice, "%s", g.Detail)
	}
}

// examinePorts checks that the configured addresses are free by listening on them briefly.
// It must not be called while the server runs, which occupies them.
func (c *Config) examinePorts(f *findings) {
	for _, one := range []struct{ variable, addr string }{{"SLUICE_ADDR", c.Addr}, {"SLUICE_METRICS_ADDR", c.MetricsAddr}, {"SLUICE_PEER_ADDR", c.PeerAddr}} {
		if _, _, err := net.SplitHostPort(one.addr); err != nil {
			continue // reported already, or not configured
		}
		listener, err := net.Listen("tcp", one.addr)
		switch {
		case err == nil:
			_ = listener.Close()
		case errors.Is(err, unix.EADDRINUSE):
			f.add("port", verdictBad, "Stop that program, or set "+one.variable+" to another address.", "Another program listens on %s.", one.addr)
		case errors.Is(err, unix.EACCES):
			f.add("port", verdictBad, "Set "+one.variable+" to a port from 1024 on.", "This user may not listen on %s.", one.addr)
		default:
			f.add("port", verdictBad, "Set "+one.variable+" to an address of this machine, such as 127.0.0.1:8080.", "%s cannot be listened on.", one.addr)
		}
	}
}

// freeSpace returns the free bytes of the disk of a directory.
func freeSpace(dir string) (int64, error) {
	var disk unix.Statfs_t
	err := unix.Statfs(dir, &disk)
	return int64(disk.Bavail) * int64(disk.Bsize), err
}

// freeForDatabase returns the free bytes of the disk of a SQLite database, or 0 if the database is
// elsewhere.
func (c *Config) freeForDatabase() int64 {
	if c.DatabaseURL != "" {
		return 0
	}
	free, err := freeSpace(c.DataDir)
	if err != nil {
		return 0
	}
	return free
}
