package flow

// Errors for changes to the members of a workspace.
var (
	ErrAlreadyMember = Errorf(CodeInputInvalid, "This person is already a member of the workspace.")
	ErrEmailTaken    = Errorf(CodeInputInvalid, "A user with this email address already exists.")
)

// CheckOwnerLeaves returns an error if an owner who leaves or loses the role is the only one of
// the workspace. owners includes that owner.
func CheckOwnerLeaves(name string, owners int64) error {
	if owners >= 2 {
		return nil
	}
	return Errorf(CodeInputInvalid, "A workspace needs an owner, and %s is the only one. Make somebody else an owner first.", name)
}

// CheckHeir returns an error unless the heir is another member whose role may own keys. role is
// that of the heir, or empty if they are not a member.
func (f KeyHandover) CheckHeir(userID string, role MemberRole) error {
	if f.HeirID == userID || !role.AtLeast(MemberEditor) {
		return Errorf(CodeInputInvalid, "Choose an editor or owner of this workspace to hand the keys over to.")
	}
	return nil
}
