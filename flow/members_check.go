package flow

// Errors for changes to the members of a workspace.
var (
	ErrAlreadyMember = Errorf(CodeInputInvalid, "This person is a member of the workspace already.")
	ErrEmailTaken    = Errorf(CodeInputInvalid, "There is already a person with this e-mail address.")
)

// CheckOwnerLeaves returns an error if a member of this role is the only owner
// of the workspace and would stop being one. owners includes the member.
func CheckOwnerLeaves(name string, owners int64) error {
	if owners >= 2 {
		return nil
	}
	return Errorf(CodeInputInvalid, "A workspace needs an owner, and %s is the only one. Make somebody else an owner first.", name)
}

// CheckHeir returns an error unless keys of a member can be handed over to
// another one with this role. The role is empty if there is no such member.
func (f KeyFate) CheckHeir(userID string, role MemberRole) error {
	if f.HeirID == userID || !role.AtLeast(MemberEditor) {
		return Errorf(CodeInputInvalid, "Choose an editor or owner of this workspace to hand the keys over to.")
	}
	return nil
}
