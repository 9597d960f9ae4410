package masterkey_test

import (
	"path/filepath"
	"strings"
	"testing"

	"sluice/db/masterkey"
)

func TestCommand_prints_the_key(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	want, err := masterkey.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := masterkey.Source{Command: "cat '" + path + "'"}.Read(true)
	if err != nil || got.KeysetInfo().GetPrimaryKeyId() != want.KeysetInfo().GetPrimaryKeyId() {
		t.Errorf("%v %v", got, err)
	}
	for command, says := range map[string]string{
		"echo no such vault >&2; exit 3": "no such vault", "echo t0psecret": "not a master key", "true": "not a master key", "head -c 1000000 /dev/zero": "not a master key",
	} {
		_, err := masterkey.Source{Command: command}.Read(true)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "t0psecret") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
