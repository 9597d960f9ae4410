package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSize_UnmarshalText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]size{
		"512MiB": 512 << 20, "100MB": 100_000_000, "1GiB": 1 << 30, "1 gib": 1 << 30, "2k": 2000, "3KiB": 3072, "7": 7, "7b": 7, "1TiB": 1 << 40,
	} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: got %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "0", "0MB", "-1", "1.5GB", "5i", "10PB", "MB", "999999999999TiB"} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %d", text, s)
		}
	}
}

func TestCheckSignup_refuses_strangers_where_nothing_is_confined(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signup, system string
		refused        bool
	}{{"open", "linux", false}, {"closed", "darwin", false}, {"open", "darwin", true}, {"open", "freebsd", true}} {
		if err := checkSignup(test.signup, test.system); (err != nil) != test.refused {
			t.Errorf("%s on %s: %v", test.signup, test.system, err)
		}
	}
}

func TestSharedKeyFile_accepts_a_file_of_root_for_the_own_group(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(path, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Config{MasterKeyFile: path}
	for mode, shared := range map[os.FileMode]bool{0o400: false, 0o600: false, 0o440: true, 0o460: true, 0o444: true, 0o640: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got, _ := c.sharedKeyFile(); (got != "") != shared {
			t.Errorf("%04o: shared is %t, wanted %t", mode, got != "", shared)
		}
	}
}
