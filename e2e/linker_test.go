package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinkerDropsUnusedMethods checks that no code in the binary finds methods by a name that
// is known only at run time. A single such call, as in text/template and some libraries for
// command lines and dependency injection, makes the linker keep every exported method of
// every type: about 8 MB here.
//
// The indicator is an unused method of a type that fmt uses through reflection.
func TestLinkerDropsUnusedMethods(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "tool", "nm", sluice).Output()
	if err != nil {
		t.Fatalf("go tool nm: %v", err)
	}
	symbols := string(out)
	if !strings.Contains(symbols, " reflect.Value.Elem\n") {
		t.Fatal("the binary has no symbols")
	}
	if strings.Contains(symbols, " reflect.(*Value).MethodByName\n") {
		t.Error("the linker keeps all exported methods; this lists the calls that make it do so:\n" +
			"\tgo build -o /dev/null -ldflags=-dumpdep ./cmd/sluice 2>&1 | grep -e '-> .*<ReflectMethod>'")
	}
}
