package pages

import (
	"context"

	"sluice/flow"
)

// memberStore keeps who is in which workspace.
type memberStore interface {
	FindMember(ctx context.Context, ws, userID string) (*flow.Member, error)
	ListMembers(ctx context.Context, ws string) ([]flow.Member, error)
	ListMemberships(ctx context.Context, userID string) ([]flow.Member, error)
	SetRole(ctx context.Context, ws, userID string, role flow.MemberRole) error
	RemoveMember(ctx context.Context, ws, userID string) error
}
