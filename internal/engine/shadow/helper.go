package shadow

import (
	"context"
	"fmt"
	"slices"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// DropHelper is the statement that takes the index away which the shadow has during the run only. It
// builds nothing.
func DropHelper(shadow schema.Name) string {
	return fmt.Sprintf("ALTER TABLE %s DROP INDEX %s, ALGORITHM=INPLACE", shadow.Quoted(), schema.Quote(schema.HelperIndex))
}

// addHelper adds the index, and proves, while the shadow is empty, that the server drops it as the swap
// will.
func (s *Shadow) addHelper(ctx context.Context, pool *dbconn.Pool, definition string) (err error) {
	if definition == "" {
		return nil
	}
	add := "ALTER TABLE " + s.Name.Quoted() + " ADD " + definition
	for _, statement := range []string{add, DropHelper(s.Name), add} {
		if err := s.exec(ctx, pool, statement, "add an index of the run"); err != nil {
			if refused(err) {
				err = fmt.Errorf("%w: %w", ErrRefused, err)
			}
			return err
		}
	}
	if s.Table, err = schema.LoadOwn(ctx, pool.DB(), s.Name); err != nil {
		return fmt.Errorf("read shadow %s: %w", s.Name, err)
	}
	return nil
}

// HasHelper reports whether the shadow has an index that the swap drops.
func (s *Shadow) HasHelper() bool { return s.helper() != nil }

func (s *Shadow) helper() *schema.Key {
	i := slices.IndexFunc(s.Table.Keys, func(k schema.Key) bool { return k.Name == schema.HelperIndex })
	if i < 0 {
		return nil
	}
	return &s.Table.Keys[i]
}

// RestoreHelper builds the index again if an attempt of the swap has dropped it and then failed.
// REQUIRES: apply holds still.
func (s *Shadow) RestoreHelper(ctx context.Context, pool *dbconn.Pool) error {
	wanted := s.helper()
	if wanted == nil {
		return nil
	}
	now, err := schema.LoadOwn(ctx, pool.DB(), s.Name)
	if err != nil {
		return fmt.Errorf("read shadow %s: %w", s.Name, err)
	}
	if (&Shadow{Table: now}).HasHelper() {
		return nil
	}
	setup := append(pool.BuildSetup(ctx, 1), "SET SESSION lock_wait_timeout = 3600")
	return s.exec(ctx, pool, fmt.Sprintf("ALTER TABLE %s ADD %s, ALGORITHM=INPLACE, LOCK=SHARED", s.Name.Quoted(), wanted.Definition),
		"build an index of the run", setup...)
}
