package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// system writes files below a directory that stands for the root of a file system.
func system(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAvailable_reads_the_lowest_limit(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:        8388608 kB\nMemFree: 1 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown":                 {nil, unknownMemory},
		"machine":                 {map[string]string{"proc/meminfo": machine}, 8 << 30},
		"version_2":               {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/app\n", "sys/fs/cgroup/app/memory.max": "536870912\n"}, 512 << 20},
		"version_2_without_limit": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/app\n", "sys/fs/cgroup/app/memory.max": "max\n"}, 8 << 30},
		"lowest_of_the_parents": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max": "1073741824\n", "sys/fs/cgroup/a/b/memory.max": "2147483648\n"}, 1 << 30},
		"version_1": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "268435456\n"}, 256 << 20},
		"version_1_without_limit":              {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8 << 30},
		"container_that_does_not_see_its_path": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/kubepods/pod1\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"limit_above_the_machine":              {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "17179869184\n"}, 8 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := available(system(t, test.files)); got != test.want {
				t.Errorf("got %d bytes, want %d", got, test.want)
			}
		})
	}
}

func TestPlan_divides_memory(t *testing.T) {
	const mib = 1 << 20
	t.Setenv("GOMEMLIMIT", "")
	for total, want := range map[int64]Plan{
		128 * mib:  {Heap: 32 * mib, Values: 20 * mib, Pages: 8 * mib, Workers: 32},
		512 * mib:  {Heap: 352 * mib, Values: 220 * mib, Pages: 16 * mib, Workers: 128},
		1024 * mib: {Heap: 864 * mib, Values: 540 * mib, Pages: 32 * mib, Workers: 256},
		4096 * mib: {Heap: 3584 * mib, Values: 2240 * mib, Pages: 64 * mib, Workers: 256},
	} {
		if got := plan(total, 0); got != want {
			t.Errorf("%d MiB: %+v, want %+v", total/mib, got, want)
		}
	}
	if got := plan(512*mib, 7).Workers; got != 7 {
		t.Errorf("%d workers, the operator has set 7", got)
	}
	t.Setenv("GOMEMLIMIT", "1GiB") // Go has read it at the start; here it only says that the operator has set one
	if got := plan(512*mib, 0).Heap; got > 352*mib {
		t.Errorf("Go's limit is %d", got)
	}
}
