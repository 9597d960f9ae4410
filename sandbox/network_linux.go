//go:build cgo

package sandbox

/*
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static int shared = -1; // errno of unshare; -1 if it was not called

// Runs before Go starts its threads. A new user namespace allows an unprivileged
// process to create a network namespace, which contains only a loopback device that
// is down.
__attribute__((constructor)) static void give_up_network(void) {
	const char *mark = getenv("SLUICE_CHILD");
	if (mark != NULL)
		shared = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 0 : errno;
}

static int shared_network(void) { return shared; }
*/
import "C"

import "syscall"

// sharedNetwork returns why this process shares its parent's network, or "" if it
// has no network.
func sharedNetwork() string {
	errno := C.shared_network()
	if errno < 0 {
		return "it was started without " + Mark
	}
	switch err := syscall.Errno(errno); err {
	case 0:
		return ""
	case syscall.EPERM, syscall.EACCES:
		return "user namespaces are not permitted here"
	case syscall.ENOSPC, syscall.EUSERS:
		return "user.max_user_namespaces is 0 or used up"
	case syscall.EINVAL, syscall.ENOSYS:
		return "the kernel has no user namespaces"
	default:
		return err.Error()
	}
}
