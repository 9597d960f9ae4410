package engine

import (
	"testing"
	"time"

	"sluice/flow"
)

func TestStep_records_attempts(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0).UTC() }
	begin := func(s *flow.Step, sec int) {
		s.Attempt++
		if s.StartedAt.IsZero() {
			s.StartedAt = at(sec)
		} else {
			beginAttempt(s, at(sec))
		}
	}
	end := func(s *flow.Step, sec int, err *flow.Error) {
		s.EndedAt, s.Error = at(sec), err
		closeAttempts(s)
	}
	refused := flow.Errorf(flow.CodeHTTPFailed, "no")
	for _, tt := range []struct {
		name  string
		play  func(s *flow.Step)
		kept  int
		tries []flow.Attempt
	}{
		{"a step that did not begin has none", func(*flow.Step) {}, 0, nil},
		{"one attempt is not kept", func(s *flow.Step) { begin(s, 0); end(s, 2, nil) }, 0, []flow.Attempt{{Number: 1, StartedAt: at(0), EndedAt: at(2)}}},
		{"failures and an end", func(s *flow.Step) {
			begin(s, 0)
			endAttempt(s, at(1), refused, false)
			begin(s, 3)
			end(s, 4, nil)
		}, 2, []flow.Attempt{{Number: 1, StartedAt: at(0), EndedAt: at(1), Error: refused}, {Number: 2, StartedAt: at(3), EndedAt: at(4)}}},
		{"a crash leaves no end", func(s *flow.Step) { begin(s, 0); begin(s, 9); end(s, 10, nil) }, 2,
			[]flow.Attempt{{Number: 1, StartedAt: at(0)}, {Number: 2, StartedAt: at(9), EndedAt: at(10)}}},
		{"a short pause continues", func(s *flow.Step) {
			begin(s, 0)
			for i := range 50 {
				endAttempt(s, at(2*i+1), nil, true)
				begin(s, 2*i+2)
			}
			end(s, 200, nil)
		}, 1, []flow.Attempt{{Number: 51, StartedAt: at(0), EndedAt: at(200)}}},
		{"a long pause is a gap", func(s *flow.Step) {
			begin(s, 0)
			endAttempt(s, at(1), nil, true)
			begin(s, 61)
			end(s, 62, nil)
		}, 2, []flow.Attempt{{Number: 1, StartedAt: at(0), EndedAt: at(1), Paused: true}, {Number: 2, StartedAt: at(61), EndedAt: at(62)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &flow.Step{}
			tt.play(s)
			if got := s.Tries(); len(s.Attempts) != tt.kept || string(flow.EncodeJSON(got)) != string(flow.EncodeJSON(tt.tries)) {
				t.Errorf("kept %d\n got %s\nwant %s", len(s.Attempts), flow.EncodeJSON(got), flow.EncodeJSON(tt.tries))
			}
		})
	}
}

func TestAppendAttempt_drops_oldest_attempts(t *testing.T) {
	t.Parallel()
	s := &flow.Step{StartedAt: time.Unix(1, 0)}
	for i := range 100 {
		s.Attempt = i + 2
		before := s.Attempts
		beginAttempt(s, time.Unix(int64(100*i), 0))
		if len(before) > 0 && before[len(before)-1].Number == s.Attempt {
			t.Fatal("a list that a write may share was changed")
		}
	}
	if len(s.Attempts) != flow.MaxAttempts || s.Attempts[flow.MaxAttempts-1].Number != 101 || s.Attempts[0].Number != 82 {
		t.Errorf("%d: %d … %d", len(s.Attempts), s.Attempts[0].Number, s.Attempts[len(s.Attempts)-1].Number)
	}
}
