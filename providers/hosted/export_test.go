package hosted

import (
	"context"
	"time"
)

// SetPause replaces how a client waits between two tries.
func SetPause(p *Replicate, pause func(context.Context, time.Duration) error) { p.pause = pause }

// SetMaxAnswer replaces how many bytes of an answer a client reads.
func SetMaxAnswer(p *Replicate, n int64) { p.maxAnswer = n }

// SetTimeout replaces how long one call may take.
func SetTimeout(p *Replicate, d time.Duration) { p.timeout = d }

// SetNow replaces the clock of a directory.
func SetNow(d *Directory, now func() time.Time) { d.cache.now = now }

// RetryAfter is retryAfter for words alone.
func RetryAfter(words string) time.Duration { return retryAfter(nil, words, time.Time{}) }

// Sentences and TitleOf are what forms make of descriptions and names.
var (
	Sentences = sentences
	TitleOf   = titleOf
)
