package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/e2e/chrome"
)

var (
	rounds = flag.Int("rounds", 3, "how often TestCrash kills the server; if given, also how often each fleet test injects its fault")
	noC    = flag.Bool("no-c", false, "build the binary under test without C, as releases for macOS are")
	seed   = flag.Uint64("seed", 0, "seed of TestCrash's random choices; 0 takes one from the clock")
)

// loggedSeed returns the seed of a test's random choices, and logs the flag that repeats them.
func loggedSeed(t testing.TB) uint64 {
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", from)
	return from
}

// sluice is the path of the binary under test.
var sluice string

// skewVariable is the environment variable that sets the clock skew of the binary under test.
const skewVariable = "SLUICE_TEST_CLOCK_SKEW"

// testRelease is the version of the binary under test.
const testRelease = "0.0.0-e2e"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

// buildAndRun builds the binary once, as the tests themselves were built.
func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sluice = filepath.Join(dir, "sluice")
	args := []string{"build", "-o", sluice, "-ldflags", "-w -X main.release=" + testRelease + " -X main.skewVariable=" + skewVariable}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "sluice/cmd/sluice")...)
	if *noC {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary under test: %v\n%s", err, out)
		return 1
	}
	defer dbtest.Stop()
	defer chrome.Stop()
	return m.Run()
}
