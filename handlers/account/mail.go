package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/flow/wording"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
)

// Numbers of mails after which one more is sent at once, and each further one must wait.
const (
	freeMails  = 20 // of a workspace, so that it cannot be used to send unwanted mail
	freeResets = 3  // to an account
	mailWait   = 15 * time.Minute
)

// errManyMails is returned for a mail that would be one too many.
var errManyMails = errors.New("this workspace has sent many mails; send the link yourself")

// mailLink sends a new link to the person that it is for. The page shows the link in any case.
func (c *call) mailLink(l *accountview.Link, subject, text string) error {
	if c.s.Mail == nil {
		return nil
	}
	l.Mailed = true
	wait, err := c.s.Store.TakeTry(c.Ctx(), fairness.Try{Name: web.AttemptKey("mail", string(c.WorkspaceID())), Free: freeMails, First: mailWait})
	if err != nil {
		return err
	}
	if err = errManyMails; wait == 0 {
		err = c.s.Mail.Send(c.Ctx(), l.For, subject, text+"\n\n"+l.URL+"\n")
	}
	if err != nil {
		l.MailError = wording.Sentence(err.Error())
	}
	return nil
}

// mailInvite sends the link of an invitation.
func (c *call) mailInvite(l *accountview.Link) error {
	return c.mailLink(l, c.Member.Name+" invited you to "+c.Member.Workspace+" on Sluice", fmt.Sprintf("%s (%s) invited you to the workspace %s on Sluice.\n\nJoin with this link. It works once, for %s:",
		c.Member.Name, c.Member.Email, c.Member.Workspace, components.WholeDuration(flow.InviteLife)))
}

// resetSubject is the subject of mails with a password reset link.
const resetSubject = "Set a new password for Sluice"

// resetText returns the text of a mail with a password reset link, which follows.
func resetText(who string) string {
	return who + " asked for a link to set a new password for your Sluice account. If you did not expect this, ignore it: nothing changes.\n\nThe link works once, for " + components.WholeDuration(flow.ResetLife) + ":"
}

// showForgot is GET /password/forgot.
func (s *Server) showForgot(c *call) error {
	return c.renderForgot(http.StatusOK, accountview.ForgotForm{})
}

// renderForgot renders the page that mails a reset link. It exists only with a mail server.
func (c *call) renderForgot(status int, f accountview.ForgotForm) error {
	if c.s.Mail == nil {
		return flow.Errorf(flow.CodeNotFound, "This server sends no mail. Ask an owner of the workspace for a password reset link (Settings › Members).")
	}
	f.Life = flow.ResetLife
	return c.Render(status, accountview.Forgot(c.Page("Forgot password", ""), f))
}

// mailReset is POST /password/forgot. Neither the response nor its timing discloses whether there is such an account.
func (s *Server) mailReset(c *call) error {
	began := time.Now()
	f := accountview.ForgotForm{Email: c.Trimmed("email")}
	if f.Errors = web.FieldErrors(map[string]string{"email": checkEmail(f.Email)}); len(f.Errors) > 0 || s.Mail == nil {
		return c.renderForgot(http.StatusUnprocessableEntity, f)
	}
	wait, err := s.Store.TakeTry(c.Ctx(), fairness.Try{Name: web.AttemptKey("forgot-from", web.RateLimitKey(c.IP())), Free: web.FreeTriesPerAddress})
	if err != nil {
		return err
	}
	if wait > 0 {
		c.RetryAfter(wait)
		f.Errors = components.Errors{"": "Too many attempts. Try again in " + web.WaitText(wait) + "."}
		return c.renderForgot(http.StatusTooManyRequests, f)
	}
	if err := c.queueReset(c.Ctx(), f.Email); err != nil {
		return err
	}
	c.waitUntil(began.Add(refusalTime))
	f.Sent = true
	return c.renderForgot(http.StatusOK, f)
}

// queueReset mails a reset link to an account, if there is one with this address and it has not got many.
func (c *call) queueReset(ctx context.Context, email string) error {
	u, err := c.userOrNil(c.s.Store.FindUserByEmail(ctx, email))
	if u == nil || err != nil {
		return err
	}
	if keeps, err := c.keepsPassword(u.ID); !keeps {
		return err
	}
	if wait, err := c.s.Store.TakeTry(ctx, fairness.Try{Name: web.AttemptKey("forgot", u.ID), Free: freeResets, First: mailWait}); wait > 0 || err != nil {
		return err
	}
	of, err := c.s.Store.ListMemberships(ctx, u.ID)
	if len(of) == 0 || err != nil {
		return err
	}
	token, err := c.s.members.Invite(ctx, flow.Actor{ID: u.ID, IP: c.IP()}, &flow.Invite{WorkspaceID: of[0].WorkspaceID, Email: u.Email, UserID: u.ID})
	if err != nil {
		return fmt.Errorf("create a password reset link: %w", err)
	}
	c.s.Mail.Queue(u.Email, resetSubject, resetText("Somebody, probably you,")+"\n\n"+c.s.PublicURL+"/password/reset?token="+token+"\n")
	return nil
}
