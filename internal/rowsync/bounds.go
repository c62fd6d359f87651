package rowsync

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/dbconn"
	"midstream/internal/key"
	"midstream/internal/schema"
)

// Bound returns the key that stands the given number of the source's rows after from, or the
// zero key if there are no more rows than that. It ends the session's transaction.
func Bound(ctx context.Context, session *dbconn.Session, spec *Spec, from key.Key, rows int) (key.Key, error) {
	var to key.Key
	for _, query := range BoundQueries(spec, from, rows) {
		err := session.Rows(ctx, query, func(r *sql.Rows) (err error) {
			to, err = spec.ScanKey(r)
			return err
		})
		if err != nil {
			return "", err
		}
		if to != "" {
			break
		}
	}
	_, err := session.Exec(ctx, "COMMIT") // the session begins transactions by itself
	return to, err
}

// BoundQueries read the key that stands offset rows after from, in the order of the key's
// index: the first of them that finds one tells. None: no more rows than that are left.
//
// Where a part is an ENUM or a SET the server would sort for ORDER BY, or read the index
// from its start. The pieces of the range are then read one after the other, each in the
// order of the index, and the chunk ends with the first at the latest: any key behind
// from is a good bound.
func BoundQueries(spec *Spec, from key.Key, offset int) []string {
	names := spec.Key.Names()
	rest := key.Range{From: from}
	if Numbered(spec.Key) {
		var queries []string
		for _, piece := range Pieces(spec.Key, names, rest) {
			queries = append(queries, fmt.Sprintf("%s LIMIT 1 OFFSET %d", readKeys(spec, piece), offset))
			offset = 0
		}
		return queries
	}
	order := make([]string, len(names))
	for i, part := range spec.Key.Parts() {
		order[i] = schema.Quote(names[i])
		if part.Descending {
			order[i] += " DESC"
		}
	}
	return []string{fmt.Sprintf("%s ORDER BY %s LIMIT 1 OFFSET %d",
		readKeys(spec, InRange(spec.Key, names, rest)), strings.Join(order, ", "), offset)}
}

func readKeys(spec *Spec, condition string) string {
	return fmt.Sprintf("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s",
		strings.Join(spec.Key.SelectExprs(), ", "), spec.Source.Quoted(), schema.Quote(spec.SourceIndex), condition)
}
