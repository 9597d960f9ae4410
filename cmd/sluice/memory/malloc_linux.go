//go:build cgo

package memory

/*
#include <malloc.h>
static void return_large_blocks(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}
*/
import "C"

// returnLargeBlocks makes the C library return blocks of a MiB and more to the system as soon as
// SQLite frees them. By default it keeps blocks up to 32 MiB, so that a few large values leave
// gaps that nothing else fills.
func returnLargeBlocks() { C.return_large_blocks() }
