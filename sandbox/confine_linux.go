package sandbox

import (
	"errors"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// ReadOnly permanently restricts this process, with all its threads, to reading files
// below a directory, which it needs before Process confines it further. It does nothing
// if the kernel does not support Landlock.
func ReadOnly(dir string) {
	if landlocksys.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == nil {
		_ = landlock.V11.BestEffort().RestrictPaths(landlock.RODirs(dir)) // Process reports the reason of a failure
	}
}

// Process permanently confines this process with all its threads. Files that are
// already open stay usable. It skips guards that the kernel does not support.
func Process() State {
	s := State{Network: sharedNetwork()}
	// Landlock requires no_new_privs, which is useful without Landlock too.
	if err := landlocksys.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		s.NoNewPrivileges = err.Error()
	}
	version, err := landlocksys.LandlockGetABIVersion()
	if err == nil {
		err = landlock.V11.BestEffort().Restrict()
	}
	switch {
	case errors.Is(err, unix.ENOSYS):
		s.Files = "the kernel has no Landlock (it came with Linux 5.13), or a container forbids it"
	case errors.Is(err, unix.EOPNOTSUPP):
		s.Files = "the kernel was started without Landlock (lsm=landlock,…)"
	case err != nil:
		s.Files = "Landlock: " + err.Error()
	default:
		s.Landlock = version
	}
	HideMemory()
	s.Calls = filterCalls() // last, because it also refuses the calls above
	return s
}

// HideMemory prevents other processes of the same user from reading the memory of this one, which
// may hold secrets, and core files.
func HideMemory() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // fails only for invalid arguments
}
