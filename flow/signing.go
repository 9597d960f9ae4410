package flow

import "time"

// SigningSecret is a secret that webhooks are signed with.
type SigningSecret struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until,omitzero"` // when it stops signing; zero for the current one
}

const (
	// SigningOverlap is for how long a replaced secret signs beside the new one,
	// unless somebody chooses otherwise.
	SigningOverlap = 24 * time.Hour
	// LongestOverlap is the most that can be chosen.
	LongestOverlap = 7 * 24 * time.Hour
	// mostSigning bounds the signatures of a message.
	mostSigning = 6
)

// Succeed gives the secrets that go on signing when the first of a list, the
// present one, is replaced: those before it, and itself for the overlap. No
// overlap ends them all, for a secret that was lost.
func Succeed(list []SigningSecret, overlap time.Duration, now time.Time) ([]SigningSecret, error) {
	if overlap <= 0 || len(list) == 0 {
		return nil, nil
	}
	if overlap > LongestOverlap {
		return nil, Errorf(CodeInputInvalid, "The old secret can sign for at most 7 days beside the new one.")
	}
	if len(list) >= mostSigning {
		return nil, Errorf(CodeInputInvalid, "%d secrets sign already. Wait until one of them ends, or choose no overlap, which ends all but the new one.", len(list))
	}
	before := append([]SigningSecret{{Secret: list[0].Secret, Until: now.Add(overlap)}}, list[1:]...)
	return Signing(before, now), nil
}

// Signing leaves out the secrets whose time is over.
func Signing(list []SigningSecret, now time.Time) (still []SigningSecret) {
	for _, s := range list {
		if s.Until.IsZero() || now.Before(s.Until) {
			still = append(still, s)
		}
	}
	return still
}
