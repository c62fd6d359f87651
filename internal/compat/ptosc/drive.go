package ptosc

import (
	"context"

	"midstream/internal/compat/speech"
	"midstream/internal/engine/migration"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/ops/session"
)

// Drive is a run that was asked for so. Midstream takes the steps.
type Drive struct {
	Asked   *Asked
	Speaker *Speaker
	Steps   speech.Steps
	// Met says that the server was reached.
	Met bool
}

// Alter does it once the server is reached. Its error is one of the steps or a *session.Error.
func (r *Drive) Alter(ctx context.Context, alter *ddl.Alter, s *session.Server) (migration.Result, error) {
	r.Met = true
	alter, notes, err := ownForeign(ctx, s.Pool.DB(), alter)
	if err != nil {
		return migration.Result{}, speech.Unwritten(err, "")
	}
	flags, resumes, err := r.Asked.Meet(ctx, s.Pool.DB())
	if err == nil {
		err = r.Steps.More(flags)
	}
	if err != nil {
		return migration.Result{}, speech.Unwritten(err, "")
	}
	r.Speaker.Met()
	for _, note := range notes {
		r.Speaker.Note(note)
	}
	if r.Asked.Mode != Execute {
		return migration.Result{}, r.Steps.Look(ctx, alter, s)
	}
	*r.Steps.MustResume = resumes
	result, err := r.Steps.Migrate(ctx, alter, s, nil)
	if err == nil {
		err = r.Asked.Finish(ctx, s.Pool.DB())
	}
	if err == nil && r.Asked.reverses && result.Undo != nil {
		r.Speaker.followed()
		err = r.Steps.More([]string{"--critical-load="}) // nothing ends triggers there
	}
	return result, err
}

// SecretOf is a password that may be missing.
func SecretOf(text *string) *dbconn.Secret {
	if text == nil {
		return nil
	}
	secret := dbconn.Secret(*text)
	return &secret
}
