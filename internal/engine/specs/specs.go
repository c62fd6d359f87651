package specs

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/engine/key"
	"midstream/internal/engine/parents"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/prescan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/verify"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Clock are one moment in the server's own time zone and in UTC.
type Clock struct{ Server, UTC string }

// ReadClock reads the time, by the server's clock, when the ALTER began.
func ReadClock(ctx context.Context, pool *dbconn.Pool) (now Clock, err error) {
	session, err := pool.Session(ctx, "SET SESSION time_zone = @@GLOBAL.time_zone")
	if err != nil {
		return now, err
	}
	defer session.Close()
	err = session.Rows(ctx, "SELECT CAST(NOW(6) AS CHAR), CAST(UTC_TIMESTAMP(6) AS CHAR)", func(rows *sql.Rows) error {
		return rows.Scan(&now.Server, &now.UTC)
	})
	if err != nil {
		return now, fmt.Errorf("read the server's clock: %w", err)
	}
	return now, nil
}

// unix is the time as dbconn.Values has it.
func (c Clock) unix() (string, error) {
	at, err := time.Parse("2006-01-02 15:04:05.999999", c.UTC)
	if err != nil {
		return "", fmt.Errorf("read the server's clock: %w", err)
	}
	return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000), nil
}

// Set defines what the stages work on.
type Set struct {
	Sync    *rowsync.Spec
	Prescan *prescan.Spec
	Compare *verify.Spec
	// Dated means that a new column of the rows has the time when the run began.
	Dated bool
	// Pairs are as plan.Columns has them.
	Pairs map[string]string
	// Parents are the foreign keys that the ALTER adds.
	Parents []parents.Key
}

// Of derives, from the plan and the shadow that the server made, what the stages check, sync and
// compare.
func Of(p *plan.Plan, shadow *schema.Table, now Clock) (s Set, err error) {
	columns, err := p.Columns(shadow)
	if err != nil {
		return s, err
	}
	if s.Sync, s.Dated, err = specOf(p, shadow, columns, now); err != nil {
		return s, err
	}
	s.Pairs = columns.Pairs
	if s.Parents, err = parentKeysOf(p); err != nil {
		return s, err
	}
	if len(s.Parents) > 0 && s.Sync.KeyChanged {
		return s, fmt.Errorf("%w: the ALTER adds a foreign key and changes the key by which the run finds rows again", plan.ErrRefused)
	}
	s.Prescan = prescanSpecOf(s.Sync, p.Source, shadow, columns.Mappings)
	s.Prescan.Old = p.Back != nil
	s.Prescan.Orphans = orphansOf(p, columns.Mappings)
	if !s.Sync.KeyChanged {
		s.Sync.Again = s.Prescan.Again(plan.Varies)
	}
	s.Compare = verifySpecOf(s.Sync, shadow, columns, p.Server.Version)
	computedColumns(s.Compare, s.Sync, shadow, columns)
	return s, nil
}

func specOf(p *plan.Plan, shadow *schema.Table, columns *plan.Columns, now Clock) (spec *rowsync.Spec, dated bool, err error) {
	codec, err := key.NewCodec(p.Key.Parts)
	if err != nil {
		return nil, false, fmt.Errorf("key %s of %s: %w", p.Key.Name, p.Source.Name, err)
	}
	spec = &rowsync.Spec{
		Source: p.Source.Name, Shadow: shadow.Name,
		Key: codec, ShadowKey: columns.Key, SourceIndex: p.Key.Name, Own: p.Key.Own, Whole: p.Key.Whole, ByValue: p.Key.ByValue,
		MostOfValue: plan.MostOfValue,
		ShadowIndex: columns.KeyIndex,
		Partitioned: p.Source.Partitioned,
		KeyChanged:  columns.KeyChanged(),
		Locking:     locking(p),
		Unchecked:   len(p.Acting) > 0,
		Marks:       p.Back != nil && len(shadow.ForeignKeys) == 0,
		Silent:      p.Server.Version.MariaDB,

		RequiresKeys: p.Server.RequiresKeys,
		Keep:         byRow(p.Filter),
	}
	from := map[string]string{}
	for _, m := range columns.Mappings {
		spec.Columns = append(spec.Columns, columnOf(m, spec.Silent))
		from[strings.ToLower(m.Shadow)] = m.Source
	}
	if p.Back.Adopts() && p.Back.Rest != "" {
		spec.Rest, spec.Side = byRow(p.Back.Rest), plan.KeptOf(p.Source.Name)
	}
	for _, name := range columns.Kept {
		kept, _ := shadow.Column(name)
		spec.Kept, spec.Side = append(spec.Kept, kept), plan.KeptOf(p.Source.Name)
	}
	for _, fill := range columns.Fills {
		if p.Back.Adopts() {
			spec.Fills = append(spec.Fills, rowsync.Column{Shadow: fill.Shadow, Expr: fill.Expr})
			continue
		}
		spec.Columns = append(spec.Columns, rowsync.Column{Shadow: fill.Shadow, Expr: fill.Expr})
		from[strings.ToLower(fill.Shadow)] = ""
	}
	if spec.Values, err = p.Values(shadow, columns); err != nil {
		return nil, false, err
	}
	if plan.Frozen(shadow, columns) || plan.ChoosesByDate(p) {
		moment := now
		if spec.Rest != "" { // on another day, the server may take rows that were left out for others
			moment.UTC = p.Back.Began
		}
		if spec.Values.Moment, err = moment.unix(); err != nil {
			return nil, false, err
		}
	}
	if spec.Values.Zone != "" {
		now.UTC = now.Server
	}
	var begun []rowsync.Column
	if !p.Back.Adopts() {
		begun = beginnings(shadow, from, now)
	}
	spec.Columns = append(spec.Columns, begun...)
	for _, c := range shadow.Columns {
		spec.Virtual = spec.Virtual || c.Generated == schema.Virtual
		if c.AutoIncrement && spec.Gives(c.Name) {
			spec.Counter = c.Name
		}
	}
	spec.Loose = spec.ByValue || !slices.ContainsFunc(shadow.Keys, func(k schema.Key) bool {
		return k.Unique && isWithin(k, spec.ShadowKey)
	})
	spec.AwaitsCopy = spec.KeyChanged || spec.Loose && !codec.Ordered()
	spec.Upsert = !spec.KeyChanged && !spec.ByValue && spec.Rest == "" && upsertable(spec, shadow)
	spec.Unique, spec.Opaque = uniqueKeys(p.Source, shadow, columns.Mappings, from)
	return spec, len(begun) > 0, nil
}

// columnOf is what a sync gives a column of the shadow.
func columnOf(m plan.Mapping, silent bool) rowsync.Column {
	return rowsync.Column{Shadow: m.Shadow, Expr: m.Expr, Apart: m.Apart, Tried: silent && m.Set != ""}
}

// byRow is an operator's condition that a server computes for each row, and looks for in no index; "" for none. An index of
// utf8mb4_unicode_ci has no emoji where LIKE 'a%' looks for it: every server of the matrix then misses such rows
// (TestL6_ARowThatAnIndexMissesIsKept).
func byRow(condition string) string {
	if condition == "" {
		return ""
	}
	return "IF((" + condition + "), 1, 0)"
}

// upsertable reports whether the key is the shadow's only unique key, and an update of a row is
// safe. It must change no column that a sync does not name. And it must not keep a column's value
// that was computed from another state of the row.
func upsertable(spec *rowsync.Spec, shadow *schema.Table) bool {
	for _, k := range shadow.Keys {
		if k.Unique && !isOn(k, spec.ShadowKey) {
			return false
		}
	}
	for _, c := range shadow.Columns {
		if c.DataType == "set" && slices.Contains(c.Members, "") {
			// VALUES() takes it by its text, and the text loses an empty member.
			return false
		}
		kept := slices.ContainsFunc(spec.Kept, func(k schema.Column) bool { return k.Name == c.Name })
		if !kept && !spec.Gives(c.Name) && (c.Computes() || strings.Contains(strings.ToUpper(c.Definition), "ON UPDATE")) {
			return false
		}
	}
	return slices.ContainsFunc(shadow.Keys, func(k schema.Key) bool { return k.Unique })
}

// isOn reports whether a key is on just these complete columns, in any order.
func isOn(k schema.Key, columns []string) bool {
	if len(k.Parts) != len(columns) || k.Type != "BTREE" { // MariaDB's HASH is no index that the server updates by
		return false
	}
	for _, part := range k.Parts {
		named := slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, part.Column) })
		if !named || part.Prefix != 0 || part.Expression != "" {
			return false
		}
	}
	return true
}

// isWithin reports whether a key has no other columns than these.
func isWithin(k schema.Key, columns []string) bool {
	return !slices.ContainsFunc(k.Parts, func(part schema.KeyPart) bool {
		return part.Expression != "" || !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, part.Column) })
	})
}

// beginnings gives new columns with DEFAULT CURRENT_TIMESTAMP the time when the run began, as a
// native ALTER does. Otherwise the server would give every row the time of its last sync.
func beginnings(shadow *schema.Table, named map[string]string, now Clock) []rowsync.Column {
	var columns []rowsync.Column
	for _, c := range shadow.Columns {
		if _, is := named[strings.ToLower(c.Name)]; is || c.Generated != schema.NotGenerated ||
			!strings.HasPrefix(strings.ToUpper(c.Default), "CURRENT_TIMESTAMP") {
			continue
		}
		text := now.Server
		if c.DataType == "timestamp" {
			text = now.UTC
		}
		text = text[:len("2006-01-02 15:04:05")] + (text[len("2006-01-02 15:04:05"):])[:fractionLength(c.Fraction)]
		columns = append(columns, rowsync.Column{Shadow: c.Name, Expr: schema.Literal(text)})
	}
	return columns
}

// fractionLength is the length of a fraction with its point.
func fractionLength(digits int) int {
	if digits == 0 {
		return 0
	}
	return 1 + digits
}

// locking returns the clause that makes the SELECT side wait for changes that are in the binlog but
// not yet visible. It is needed on a server with an engine that commits in another order. It is
// also needed for changes that foreign keys make without a trace in the binlog.
func locking(p *plan.Plan) string {
	switch {
	case p.Server.CommitOrder && len(p.Acting) == 0 && p.Purpose != plan.RehearsingOnReplica: // its heartbeats are in no binlog
		return ""
	case p.Server.Version.AtLeast(8, 0, 1) && !p.Server.Version.MariaDB:
		return " FOR SHARE"
	}
	return " LOCK IN SHARE MODE"
}

// uniqueKeys lists the unique keys of the shadow that have their values in the source: all their
// parts are plain columns that are taken from the source and not converted. (Converted values of
// the source can't be compared with the shadow's.) others reports whether the shadow has more
// unique keys.
func uniqueKeys(source, shadow *schema.Table, mappings []plan.Mapping, from map[string]string) (keys []rowsync.UniqueKey, others bool) {
	// same maps source columns to shadow columns, if no value changes.
	same := map[string]string{}
	converted := map[string]bool{}
	for _, m := range mappings {
		if m.Change == plan.Same {
			same[strings.ToLower(m.Source)] = strings.ToLower(m.Shadow)
		}
		converted[strings.ToLower(m.Shadow)] = m.Change == plan.Converted
	}
	for _, k := range shadow.Keys {
		if !k.Unique {
			continue
		}
		u := rowsync.UniqueKey{Name: k.Name, Hidden: !k.Visible}
		for _, part := range k.Parts {
			column, ok := shadow.Column(part.Column)
			source, mapped := from[strings.ToLower(part.Column)]
			if !ok || !mapped || source == "" || converted[strings.ToLower(part.Column)] {
				break
			}
			u.Parts = append(u.Parts, uniquePart(part, source, column))
		}
		if len(u.Parts) < len(k.Parts) {
			others = true
			continue
		}
		u.Enforced = enforced(source, k, same)
		keys = append(keys, u)
	}
	return keys, others
}

// uniquePart is a part of a unique key. Members of an ENUM or SET have the same numbers on both sides, or the column is
// converted.
func uniquePart(part schema.KeyPart, source string, column schema.Column) rowsync.UniquePart {
	text := schema.Quote(source)
	u := rowsync.UniquePart{Shadow: part.Of(schema.Quote(column.Name)), Source: column.InKey(text), Text: text}
	if !column.HasMembers() {
		u.Source = part.Of(inCollation(text, column))
		u.Text = u.Source
	}
	return u
}

// enforced reports whether a unique key of the source covers no more than the shadow's key, over
// columns with unchanged values. Then two rows of the source never have the same value of it at one
// time.
func enforced(source *schema.Table, shadowKey schema.Key, same map[string]string) bool {
	parts := map[string]schema.KeyPart{}
	for _, part := range shadowKey.Parts {
		parts[strings.ToLower(part.Column)] = part
	}
	for _, k := range source.Keys {
		covered := k.Unique
		for _, part := range k.Parts {
			other, in := parts[same[strings.ToLower(part.Column)]]
			covered = covered && in && part.Expression == "" && part.Prefix == other.Prefix
		}
		if covered {
			return true
		}
	}
	return false
}

// inCollation has the source's value compare as the shadow's column does.
func inCollation(expr string, column schema.Column) string {
	if column.Charset == "" || column.Charset == "binary" {
		return expr
	}
	return fmt.Sprintf("CONVERT(%s USING %s) COLLATE %s", expr, column.Charset, column.Collation)
}
