package console

import (
	"fmt"
	"time"

	"sluice/flow"
	consoleview "sluice/views/console"
)

// stepTries returns the number of attempts of a step. Resuming after a wait does not
// count as another attempt.
func stepTries(s *flow.Step) int {
	switch {
	case s.Attempt == 0:
		return 0
	case s.State == flow.StepFailed, s.State == flow.StepRetrying:
		return max(s.Failures, 1)
	}
	return s.Failures + 1
}

// stepDuration returns how long a step has taken until it ended, or until now.
func stepDuration(s *flow.Step, now time.Time) time.Duration {
	if s.EndedAt.IsZero() {
		return max(0, now.Sub(s.StartedAt))
	}
	return max(0, s.EndedAt.Sub(s.StartedAt))
}

// attemptBars returns the attempts of a step and the pauses between them. begin is the start
// of the run.
func attemptBars(s *flow.Step, begin, now time.Time) (list []consoleview.WaterfallBar) {
	tries := s.Tries()
	for i, a := range tries {
		end, interrupted := a.EndedAt, false
		if end.IsZero() {
			end, interrupted = now, i < len(tries)-1
		}
		if interrupted {
			end = tries[i+1].StartedAt
		}
		if i > 0 && !tries[i-1].EndedAt.IsZero() {
			wait := timeSpan(begin, tries[i-1].EndedAt, a.StartedAt, "pause")
			wait.Title = "waited " + consoleview.Precisely(wait.To-wait.From)
			list = append(list, wait)
		}
		b := timeSpan(begin, a.StartedAt, end, attemptState(s, a, i == len(tries)-1))
		b.Title = fmt.Sprintf("%s after %s, took %s", b.State, consoleview.Precisely(b.From), consoleview.Precisely(b.To-b.From))
		if len(tries) > 1 {
			b.Title = fmt.Sprintf("attempt %d: %s", a.Number, b.Title)
		}
		list = append(list, b)
	}
	if n := len(tries); n > 0 && !s.State.Ended() && !tries[n-1].EndedAt.IsZero() {
		last := timeSpan(begin, tries[n-1].EndedAt, now, "pause")
		last.Title = "waiting"
		list = append(list, last)
	}
	return list
}

// timeSpan returns the bar between two times. Clocks of instances can differ, so both
// ends are clamped to the start of the run.
func timeSpan(begin, from, to time.Time, state string) consoleview.WaterfallBar {
	b := consoleview.WaterfallBar{From: max(0, from.Sub(begin)), State: state}
	b.To = max(b.From, to.Sub(begin))
	return b
}

// attemptState returns the state that an attempt ended with.
func attemptState(s *flow.Step, a flow.Attempt, last bool) string {
	switch {
	case last && (s.State.Ended() || a.EndedAt.IsZero()):
		return string(s.State)
	case a.Error != nil:
		return string(flow.StepRetrying)
	case a.Paused:
		return string(flow.StepWaiting)
	}
	return string(flow.StepCanceled)
}
