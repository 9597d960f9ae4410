package engine

import (
	"sync"

	"sluice/flow/redaction"
)

// voice passes on text that comes in pieces without the secrets, also those
// that are cut in two.
type voice struct {
	secrets *redaction.Redactor
	say     func(text string)
	mu      sync.Mutex
	kept    string
}

// write passes text on, except for an end that may be the beginning of a secret: it is kept until
// more text shows whether it is one.
func (v *voice) write(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = v.secrets.Text(v.kept + text)
	v.pass(len(v.kept) - v.secrets.Held(v.kept))
}

// end passes on what turned out to be no secret.
func (v *voice) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pass(len(v.kept))
}

// pass passes on the first bytes of what is kept.
func (v *voice) pass(bytes int) {
	text := v.kept[:bytes]
	if v.kept = v.kept[bytes:]; text != "" {
		v.say(text)
	}
}
