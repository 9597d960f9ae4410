package busy

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"
)

// slotSize is the size in bytes of a run's entry in the region: a uint32 counter of
// activities, a byte with the length of the ID, and the ID.
const (
	slotSize   = 64
	slotHeader = 5
)

// Marks records which runs execute inside this process, as opposed to runs that wait for
// the network or a timer. Only a run that was executing can have caused a crash.
//
// The region may be a memory-mapped file: its content survives when the process is killed,
// and marks need no system calls. Marks is safe for concurrent use.
type Marks struct {
	region []byte
	mu     sync.Mutex
	free   []int // offsets of unused slots
}

// Mark is the entry of one run. The methods of a nil Mark do nothing.
type Mark struct {
	marks  *Marks
	offset int
}

// RegionSize returns the size in bytes of a region for a number of concurrent runs.
func RegionSize(runs int) int { return runs * slotSize }

// NewMarks returns marks kept in a zeroed region, which must be aligned to
// four bytes.
func NewMarks(region []byte) *Marks {
	b := &Marks{region: region}
	for at := len(region) - slotSize; at >= 0; at -= slotSize {
		b.free = append(b.free, at)
	}
	return b
}

// Read returns the IDs of the busy runs in a region, which may have been
// written by a process that has ended.
func Read(region []byte) (runIDs []string) {
	for ; len(region) >= slotSize; region = region[slotSize:] {
		n := int(region[4])
		if busyCount(region, 0).Load() > 0 && n > 0 && n <= slotSize-slotHeader {
			runIDs = append(runIDs, string(region[slotHeader:slotHeader+n]))
		}
	}
	return runIDs
}

func busyCount(region []byte, offset int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&region[offset]))
}

// Open reserves a slot and returns the mark of a run, which is not busy yet. It returns nil
// if no slot is free, the ID is too long or b is nil. Close frees the slot.
func (b *Marks) Open(runID string) (m *Mark) {
	if b == nil || len(runID) > slotSize-slotHeader {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) == 0 {
		return nil
	}
	at := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	b.write(func() {
		busyCount(b.region, at).Store(0)
		b.region[at+4] = byte(len(runID))
		copy(b.region[at+slotHeader:at+slotSize], runID)
	})
	return &Mark{b, at}
}

// Busy returns the IDs of the runs that are busy now.
func (b *Marks) Busy() []string {
	b.mu.Lock() // no slot is reserved or freed while Read runs
	defer b.mu.Unlock()
	return Read(b.region)
}

// Enter marks the run as busy until the matching Leave. Calls can nest.
func (m *Mark) Enter() { m.add(1) }

// Leave ends the activity of one Enter.
func (m *Mark) Leave() { m.add(^uint32(0)) }

func (m *Mark) add(delta uint32) {
	if m != nil {
		m.marks.write(func() { busyCount(m.marks.region, m.offset).Add(delta) })
	}
}

// Close marks the run as not busy and frees the slot.
func (m *Mark) Close() {
	if m == nil {
		return
	}
	m.marks.mu.Lock()
	defer m.marks.mu.Unlock()
	m.marks.write(func() { busyCount(m.marks.region, m.offset).Store(0) })
	m.marks.free = append(m.marks.free, m.offset)
}

// write runs f, which writes to the region. If the file system cannot provide a
// page of a mapped file, as on a full copy-on-write disk, the write raises a
// memory fault: the mark is lost, but the process survives.
func (b *Marks) write(f func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
		}
	}()
	f()
}
