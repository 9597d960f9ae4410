package main

import (
	"context"
	"fmt"
	"strings"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// basesNamed is how many bases or problems a finding names.
const basesNamed = 20

// knowledge reports bases whose credential is gone, documents that could not be read, and blocks of indexes that wait to be rewritten. With all, it compares the
// documents of each base with its passages and its index.
func (f *findings) knowledge(ctx context.Context, store *db.Store, all bool) {
	spaces, err := allStorage(ctx, store)
	if err != nil {
		f.add("knowledge", verdictBad, "", "%v", err)
		return
	}
	var gone, failed, damaged []string
	total, documents, stale := 0, int64(0), int64(0)
	for i := range spaces {
		bases, err := store.ListBases(ctx, flow.WorkspaceID(spaces[i].ID))
		if err != nil {
			f.add("knowledge", verdictBad, "", "%v", err)
			return
		}
		for j := range bases {
			b := &bases[j]
			total, documents = total+1, documents+b.Documents
			one, err := examineBase(ctx, store, b, all)
			if err != nil {
				f.add("knowledge", verdictBad, "", "%s: %v", b.Slug, err)
				return
			}
			stale += one.stale
			if one.gone {
				gone = append(gone, b.Slug)
			}
			if one.failed > 0 {
				failed = append(failed, fmt.Sprintf("%s (%d)", b.Slug, one.failed))
			}
			damaged = append(damaged, one.damaged...)
		}
	}
	if total == 0 {
		return
	}
	if len(damaged) > 0 {
		f.add("knowledge", verdictBad, "Add the documents again, and report this.", "Indexes do not agree with documents: %s", named(damaged))
	}
	if len(gone) > 0 {
		f.add("knowledge", verdictWarn, "Enter the credential under Credentials, or choose another in the settings of the base.", "The credential of the model is missing: %s.", named(gone))
	}
	if len(failed) > 0 {
		f.add("knowledge", verdictWarn, "The page of the base says why, and retries them.", "Documents could not be read: %s.", named(failed))
	}
	if len(damaged)+len(gone)+len(failed) == 0 {
		what := ""
		if all {
			what = " Documents, passages and indexes agree."
		}
		f.add("knowledge", verdictOK, "", "%s with %s; %s rewritten in the background.%s", count(int64(total), "base", "bases"), count(documents, "document", "documents"), count(stale, "block is", "blocks are"), what)
	}
}

// baseState is what is wrong with a base.
type baseState struct {
	gone          bool // its credential
	failed, stale int64
	damaged       []string
}

// examineBase examines one base.
func examineBase(ctx context.Context, store *db.Store, b *knowledge.Base, all bool) (s baseState, err error) {
	states, err := store.CountBaseDocuments(ctx, b)
	if err != nil {
		return s, err
	}
	s.failed = states[knowledge.Failed]
	if s.stale, err = store.CountStaleBlocks(ctx, b); err != nil {
		return s, err
	}
	if name := b.Settings.Credential; name != "" && b.Settings.Model != "" {
		_, err := store.FindCredential(ctx, b.WorkspaceID, name)
		if s.gone = flow.IsNotFound(err); err != nil && !s.gone {
			return s, err
		}
	}
	if all {
		s.damaged, err = store.CheckBase(ctx, b)
		for i := range s.damaged {
			s.damaged[i] = b.Slug + ": " + s.damaged[i]
		}
	}
	return s, err
}

// named joins the first entries of a list.
func named(list []string) string {
	text := strings.Join(list[:min(len(list), basesNamed)], ", ")
	if len(list) > basesNamed {
		text += " …"
	}
	return text
}
