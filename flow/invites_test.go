package flow

import "testing"

func TestMayResetPassword(t *testing.T) {
	t.Parallel()
	in := func(ws WorkspaceID, role MemberRole) Member { return Member{WorkspaceID: ws, Role: role} }
	own := []Member{in("a", MemberOwner), in("b", MemberOwner), in("c", MemberEditor)}
	for _, c := range []struct {
		name   string
		theirs []Member
		want   bool
	}{
		{"a member of one's own", []Member{in("a", MemberOwner)}, true},
		{"of two of one's own", []Member{in("a", MemberViewer), in("b", MemberEditor)}, true},
		{"also of one that is only edited", []Member{in("a", MemberViewer), in("c", MemberViewer)}, false},
		{"also of a stranger's", []Member{in("a", MemberViewer), in("d", MemberViewer)}, false},
		{"of none", nil, false},
	} {
		if got := MayResetPassword(own, c.theirs); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
