package intake

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// With binlog_row_image MINIMAL, the row event of an INSERT leaves out the columns that the statement does not name. They have their
// constant defaults, and the key that is followed may have such a column. What the server makes of the default, a temporary table shows.

// defaults are the texts of the defaults of a key's columns, by their places in the key, as key.Codec.FromText reads them.
type defaults map[int][]byte

// readDefaults reads the defaults that an event may leave out.
func readDefaults(ctx context.Context, pool *dbconn.Pool, p *plan.Plan) (found defaults, err error) {
	codec, err := p.Key.Codec()
	if err != nil {
		return nil, err
	}
	var places []int
	var definitions []string
	for i, part := range codec.Parts() {
		c := part.Column
		varies := c.AutoIncrement || c.Computes() || c.Generated != schema.NotGenerated
		if varies || c.Default == "" && !c.Nullable || strings.HasPrefix(strings.ToUpper(c.Default), "CURRENT_TIMESTAMP") {
			continue
		}
		places = append(places, i)
		definitions = append(definitions, schema.Quote(c.Name)+" "+c.Definition)
	}
	if len(places) == 0 {
		return nil, nil
	}
	definitions = append(definitions, rowsync.NumberedRows) // a table needs a visible column, and perhaps a key
	table := p.Source.Name.Temporary("midstream_defaults").Quoted()
	session, err := pool.Session(ctx, dbconn.Lenient(
		fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) ENGINE=InnoDB%s", table, strings.Join(definitions, ", "), p.Source.Charset()),
		"INSERT INTO "+table+" () VALUES ()",
	)...)
	if dbconn.Number(err) != 0 && !dbconn.ConnectionLost(err) && !dbconn.Contended(err) {
		return nil, nil // most runs need no default, and an event that does ends the run
	}
	if err != nil {
		return nil, fmt.Errorf("read the defaults of the key's columns: %w", err)
	}
	defer session.Close()
	exprs := codec.SelectExprs()
	selected := make([]string, len(places))
	texts := make([][]byte, len(places))
	targets := make([]any, len(places))
	for i, place := range places {
		selected[i], targets[i] = exprs[place], &texts[i]
	}
	err = session.Rows(ctx, "SELECT "+strings.Join(selected, ", ")+" FROM "+table, func(rows *sql.Rows) error { return rows.Scan(targets...) })
	if err != nil {
		return nil, fmt.Errorf("read the defaults of the key's columns: %w", err)
	}
	found = defaults{}
	for i, place := range places {
		found[place] = slices.Clone(texts[i])
	}
	return found, nil
}

// of gives a codec the defaults.
func (d defaults) of(codec *key.Codec) {
	for place, text := range d {
		codec.SetDefault(place, text)
	}
}
