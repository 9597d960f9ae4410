//go:build linux || darwin

package pdfium

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// withMemory makes the memory of modules grow in place. Otherwise, it is copied
// as it grows, which takes twice the memory for a moment.
//
// The full range of addresses is reserved first without access (PROT_NONE), which
// takes no memory and does not count toward RLIMIT_DATA. To grow is to make more of
// the range accessible; the kernel provides pages as they are touched.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		reserved, err := unix.Mmap(-1, 0, int(most), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(err) // no module can run without memory
		}
		return &memory{reserved: reserved}
	}))
}

// memory is a range of addresses; the first part of it can be used.
type memory struct {
	reserved []byte
	used     int
}

// Reallocate returns nil if the system has no more memory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if n := int(size); n > m.used {
		if unix.Mprotect(m.reserved[:n], unix.PROT_READ|unix.PROT_WRITE) != nil {
			return nil
		}
		m.used = n
	}
	return m.reserved[:size:len(m.reserved)]
}

func (m *memory) Free() { _ = unix.Munmap(m.reserved) }
