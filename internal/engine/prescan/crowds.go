package prescan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/mysql/schema"
)

// lookForCrowds finds the values of a followed index that have too many rows: if one of the rows changes, all of them are synced. It
// reads the index once.
func (s *Scanner) lookForCrowds(ctx context.Context) error {
	spec, most := s.deps.Spec.Sync, s.deps.Spec.MostOfValue
	if !spec.ByValue {
		return nil
	}
	if err := s.deps.Gate(ctx, 0, 0); err != nil {
		return err
	}
	s.looking.Add(1)
	defer s.looking.Add(-1)
	session, err := s.deps.Pool.Session(ctx, s.setup()...)
	if err != nil {
		return err
	}
	defer session.Close()
	var sum int64
	var crowds []numbered
	names := schema.QuoteAll(spec.Key.Names())
	query := fmt.Sprintf("SELECT %s, COUNT(*) FROM %s FORCE INDEX (%s) GROUP BY %s HAVING COUNT(*) > %d LIMIT %d",
		strings.Join(spec.Key.SelectExprs(), ", "), spec.Source.Quoted(), schema.Quote(spec.SourceIndex), names, most, s.cfg.Shown)
	err = session.Patiently(ctx, func() error {
		sum, crowds = 0, nil
		return session.Rows(ctx, query, func(rows *sql.Rows) error {
			var n int64
			k, err := spec.ScanKey(rows, &n)
			sum, crowds = sum+n, append(crowds, numbered{len(crowds), k})
			return err
		})
	})
	if err != nil || len(crowds) == 0 {
		return err
	}
	s.findings.addRows(finding{
		kind: KindCrowd, owner: spec.SourceIndex, more: true,
		what:  fmt.Sprintf("with a value of index %s, which is not unique, that more than %d rows have", spec.SourceIndex, most),
		fix:   "follow another index with --key, or add one",
		query: fmt.Sprintf("SELECT %[1]s, COUNT(*) FROM %[2]s GROUP BY %[1]s HAVING COUNT(*) > %[3]d", names, spec.Source.Quoted(), most),
	}, sum, crowds, nil)
	return nil
}
