package shadow

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
func (s *Shadow) addHelper(ctx context.Context, pool *dbconn.Pool, definition string) error {
	if definition == "" {
		return nil
	}
	add := "ALTER TABLE " + s.Name.Quoted() + " ADD " + definition
	if strings.HasPrefix(definition, "COLUMN ") {
		if err := s.tryColumns(ctx, pool, add); err != nil {
			return err
		}
		return s.add(ctx, pool, add+", ALGORITHM=COPY") // which leaves no trace of columns that have gone
	}
	return s.add(ctx, pool, add, DropHelper(s.Name), add)
}

// add adds what the run needs, and reads the shadow again.
func (s *Shadow) add(ctx context.Context, pool *dbconn.Pool, statements ...string) (err error) {
	for _, statement := range statements {
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

// tryColumns adds the columns and the index of the run, and proves that the server takes the columns away in an instant, as it will
// after the swap, and leaves the definition that it had made. The shadow has none of them afterwards.
func (s *Shadow) tryColumns(ctx context.Context, pool *dbconn.Pool, add string) error {
	try := func(statement string) (*schema.Table, error) {
		if err := s.exec(ctx, pool, statement, "add a column of the run"); refused(err) {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		} else if err != nil {
			return nil, err
		}
		now, err := schema.LoadOwn(ctx, pool.DB(), s.Name)
		if err != nil {
			err = fmt.Errorf("read shadow %s: %w", s.Name, err)
		}
		return now, err
	}
	with, err := try(add)
	if err == nil {
		_, err = try(DropHelper(s.Name))
	}
	if err != nil {
		return err
	}
	without, err := try(schema.DropHelpers(s.Name, with.Helpers()))
	if err == nil && !s.sameAs(without) {
		err = fmt.Errorf("add a column of the run to shadow %s: %w: its definition differs once the column is dropped", s.Name, ErrRefused)
	}
	return err
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
