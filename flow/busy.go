package flow

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"
)

// busySlot is the size in bytes of one run's entry in a region of marks: a
// uint32 counter, a byte with the length of the ID, and the ID.
const (
	busySlot   = 64
	busyHeader = 5
)

// BusyMarks records which runs work inside this process, as opposed to runs
// that wait for the network or a timer. Only a run that was at work can have
// caused a crash.
//
// The region may be a file mapped into memory: the kernel keeps what was
// written there when the process is killed, without a system call per mark.
// BusyMarks is safe for concurrent use.
type BusyMarks struct {
	region []byte
	mu     sync.Mutex
	free   []int // offsets of unused slots
}

// BusyMark is the entry of one run. Its methods accept nil, which marks nothing.
type BusyMark struct {
	marks  *BusyMarks
	offset int
}

// BusyRegionSize is the size in bytes of a region for so many runs at once.
func BusyRegionSize(runs int) int { return runs * busySlot }

// NewBusyMarks returns marks kept in a zeroed region, which must be aligned to
// four bytes.
func NewBusyMarks(region []byte) *BusyMarks {
	b := &BusyMarks{region: region}
	for at := len(region) - busySlot; at >= 0; at -= busySlot {
		b.free = append(b.free, at)
	}
	return b
}

// ReadBusy returns the IDs of the busy runs in a region, which may have been
// written by a process that has ended.
func ReadBusy(region []byte) (runIDs []string) {
	for ; len(region) >= busySlot; region = region[busySlot:] {
		n := int(region[4])
		if busyCount(region, 0).Load() > 0 && n > 0 && n <= busySlot-busyHeader {
			runIDs = append(runIDs, string(region[busyHeader:busyHeader+n]))
		}
	}
	return runIDs
}

func busyCount(region []byte, offset int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&region[offset]))
}

// Open returns the mark of a run, which is not busy yet. It returns nil when
// there is no slot left or b is nil. Close gives the slot back.
func (b *BusyMarks) Open(runID string) (m *BusyMark) {
	if b == nil || len(runID) > busySlot-busyHeader {
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
		copy(b.region[at+busyHeader:at+busySlot], runID)
	})
	return &BusyMark{b, at}
}

// Busy returns the IDs of the runs that are busy now.
func (b *BusyMarks) Busy() []string {
	b.mu.Lock() // slots do not change hands meanwhile
	defer b.mu.Unlock()
	return ReadBusy(b.region)
}

// Enter counts one more activity of the run in this process.
func (m *BusyMark) Enter() { m.add(1) }

// Leave undoes one Enter.
func (m *BusyMark) Leave() { m.add(^uint32(0)) }

func (m *BusyMark) add(delta uint32) {
	if m != nil {
		m.marks.write(func() { busyCount(m.marks.region, m.offset).Add(delta) })
	}
}

// Close marks the run as not busy and frees the slot.
func (m *BusyMark) Close() {
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
func (b *BusyMarks) write(f func()) {
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

// activity is the current state of a step that calls an external service: it
// works in this process or waits. It begins waiting.
type activity struct {
	mark    *BusyMark
	mu      sync.Mutex
	working bool
	ended   bool
}

// set records whether the step works. It is safe for concurrent use, also after
// the step has ended.
func (a *activity) set(working bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.working == working {
		return
	}
	a.working = working
	if working {
		a.mark.Enter()
	} else {
		a.mark.Leave()
	}
}

func (a *activity) end() {
	a.set(false)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}
