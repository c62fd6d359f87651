package plan

import (
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Mapping pairs a column of the source with the column of the shadow that takes its values.
type Mapping struct {
	Source string
	Shadow string
	// Expr is what a sync selects from the source: the column, or an expression of it.
	Expr   string
	Change Change
	// Exact means that the two values compare equal by their numbers or bytes.
	Exact bool
	// ToDate means that the shadow's column holds dates.
	ToDate bool
	// Text means that the source's column holds texts or bytes.
	Text bool
	// Fits means that the server refuses no value that the source's column may have.
	Fits bool
	// Losses describe what happens to values that the server changes without an error.
	Losses []string
	// ZoneSensitive means that the conversion depends on the session's time_zone.
	ZoneSensitive bool
	// Dated means that the conversion depends on the day: a TIME becomes a date.
	Dated bool
	// Set is the operator's expression that gives the values (--set); "" if a column does. Reads are the source's columns that it
	// names, and Was is the one that the shadow's column continues; "" if it is new. Source is then "". Changed is the condition
	// that the expression changes a value of Was.
	Set     string
	Reads   []string
	Was     string
	Changed string
	// Apart is a condition over the source's columns for a column of the followed key: the values that
	// stay apart. "" if all do. Expr fails for a value that does not meet it.
	Apart string
	// toChar means that the shadow's column is a CHAR.
	toChar bool
}

// Change is how a column's values differ between source and shadow, as far as predicates depend on
// it.
type Change int

// The kinds of change, from none to most.
const (
	// Same: a range and a literal of the source select the same rows of the shadow.
	Same Change = iota
	// Reordered: the charset, collation, pad rule or order of columns differs. A literal still finds
	// the row; a range may hold other rows.
	Reordered
	// Converted: the stored value differs. A literal of the source doesn't find it.
	Converted
)

// String names the change.
func (c Change) String() string {
	switch c {
	case Same:
		return "same"
	case Reordered:
		return "reordered"
	}
	return "converted"
}

// Columns is how rows of the source become rows of the shadow.
type Columns struct {
	Mappings []Mapping // in the order of the shadow's columns
	// Pairs are the columns that both tables have, and not both compute: name in the shadow to name in the source.
	Pairs map[string]string
	// Fills are columns of the shadow that an INSERT must name too.
	Fills []Fill
	// Kept are the columns of the shadow whose values no sync changes: the columns of the old table that the
	// change has dropped, in an undo.
	Kept []string
	// Key are the shadow's names of the key's columns, in the order of the key.
	Key []string
	// KeyIndex is the shadow's index whose first parts are those columns.
	KeyIndex string
	// KeyChange is the greatest change of a key column.
	KeyChange Change
}

// KeyChanged reports whether a range of the key selects other rows in the shadow than in the
// source. If so, only exact key lists may delete from the shadow (decision 1).
func (c *Columns) KeyChanged() bool { return c.KeyChange != Same }

// Source returns the source's names, in the order of Shadow's.
func (c *Columns) Source() []string {
	names := make([]string, len(c.Mappings))
	for i, m := range c.Mappings {
		names[i] = m.Source
	}
	return names
}

// Shadow returns the shadow's names.
func (c *Columns) Shadow() []string {
	names := make([]string, len(c.Mappings))
	for i, m := range c.Mappings {
		names[i] = m.Shadow
	}
	return names
}

// unfollowed is why the shadow cannot be searched by the followed key.
type unfollowed struct{ why string }

func (u *unfollowed) Error() string { return u.why }

// Columns pairs the columns of the source and of the altered shadow, and finds how the shadow is
// searched by the source's key. It fails if the shadow isn't what the plan expected, or if only the
// operator can know which columns belong together.
func (p *Plan) Columns(made *schema.Table) (*Columns, error) {
	shadow := made.WithoutHelpers()
	m := mapper{source: p.Source, shadow: shadow, alter: p.Alter, user: p.Map}
	pairs, err := m.pairs()
	if err != nil {
		return nil, err
	}
	mariadb := p.Server.Version.MariaDB
	c := &Columns{Mappings: stored(pairs, mariadb), Fills: fills(shadow, pairs, p.Server.TakesZeroDates(), mariadb)}
	c.Pairs = pairsOf(pairs)
	shadow = withDropped(p, made)
	pairs = pairDropped(p, c, pairs, shadow)
	if p.Back.Adopts() {
		c.Fills, c.Kept = p.Back.fillsOf(pairs, shadow)
	}
	for _, part := range p.Key.Parts {
		i := slices.IndexFunc(pairs, func(x columnPair) bool { return x.from.Name == part.Column.Name })
		if i < 0 {
			return nil, &unfollowed{fmt.Sprintf("key column %s of %s has no column in the shadow", part.Column.Name, p.Source.Name)}
		}
		change, err := c.keyChange(pairs[i])
		if err == nil && p.Back.Adopts() && !p.Back.Redo {
			err = filled(pairs[i])
		}
		if err != nil {
			return nil, err
		}
		c.keepApart(pairs[i], p.Back.Adopts())
		c.Key = append(c.Key, pairs[i].to.Name)
		c.KeyChange = max(c.KeyChange, change)
	}
	if p.Back.Adopts() {
		c.invert(pairs, p.Back.Redo)
	}
	p.refuseZeros(c, pairs)
	p.pad(c, pairs)
	p.refuseNulls(c, pairs)
	if err := p.set(c, made.WithoutHelpers()); err != nil {
		return nil, err
	}
	index, reordered := indexOf(shadow, c.Key)
	if p.Key.ByValue && (c.KeyChange != Same || index != nil && reordered) {
		return nil, &unfollowed{fmt.Sprintf("the ALTER changes how the values of (%s) compare, and the index %s is not unique",
			strings.Join(p.Key.Columns(), ", "), p.Key.Name)}
	}
	if index == nil && p.Key.Helper {
		_, err := helperOf(shadow, c.Key)
		c.KeyIndex = schema.HelperIndex
		return c, err
	}
	if index == nil {
		return nil, &unfollowed{fmt.Sprintf("the shadow has no index that begins with (%s), the key that the run follows: "+
			"every change would read the complete table", strings.Join(c.Key, ", "))}
	}
	if reordered {
		c.KeyChange = max(c.KeyChange, Reordered)
	}
	c.KeyIndex = index.Name
	return c, nil
}

// invert makes an undo convert values as the opposite of what the change has done, if the server reads them in another way or
// refuses them all: its ALTER writes a BIT into a BLOB or TEXT as its bytes, and reads a number from there.
func (c *Columns) invert(pairs []columnPair, redo bool) {
	for i, m := range c.Mappings {
		at := slices.IndexFunc(pairs, func(p columnPair) bool { return p.to.Name == m.Shadow })
		from, to, column := pairs[at].from, pairs[at].to, schema.Quote(m.Source)
		switch {
		case from.DataType == "binary" && to.DataType == "binary" && to.Length < from.Length: // without the zeros that the change has added
			n := to.Length
			c.Mappings[i].Expr = fmt.Sprintf("IF(SUBSTRING(%s, %d) = REPEAT(X'00', %d), LEFT(%[1]s, %[4]d), %[1]s)", column, n+1, from.Length-n, n)
		case redo:
		case to.DataType == "bit" && isBlob(from):
			c.Mappings[i].Expr = column
		case from.DataType == "bit" && isBlob(to):
			c.Mappings[i].Expr = "CONCAT(" + column + " + 0)"
		case to.DataType == "json" && from.Charset == "binary" && isText(from): // MySQL makes no JSON of bytes
			c.Mappings[i].Expr = "CONVERT(" + column + " USING utf8mb4)"
		}
	}
}

func isBlob(c schema.Column) bool {
	return strings.HasSuffix(c.DataType, "blob") || strings.HasSuffix(c.DataType, "text")
}

// keepApart makes syncs fail at a row whose key could become equal to another one. A changed key that
// can't be converted has no row in the shadow (rowsync.Spec), so it deletes none.
func (c *Columns) keepApart(key columnPair, undo bool) {
	if key.to.Generated != schema.NotGenerated {
		return
	}
	condition, _ := apart(key.from, key.to)
	if undo && key.to.DataType == "binary" && key.from.DataType != "binary" { // the change has read them with their zero bytes
		condition = fmt.Sprintf("LENGTH(%s) = %d", schema.Quote(key.from.Name), key.to.Length)
	} else if len(merging(key.from, key.to)) == 0 {
		if condition = uncut(key.from, key.to); condition == "" || !undo {
			return
		}
	}
	for i, m := range c.Mappings {
		if m.Shadow == key.to.Name {
			c.Mappings[i].Apart, c.Mappings[i].Expr, c.Mappings[i].Fits = condition, apartOnly(key.from, key.to, condition), false
		}
	}
}

// refuseZeros makes syncs fail at a row with 0 in a column that becomes AUTO_INCREMENT. The server's
// own ALTER gives such a row the next number at that moment, unless the sql_mode has
// NO_AUTO_VALUE_ON_ZERO; a run cannot know that number. A text that is no number is refused in
// strict mode.
func (p *Plan) refuseZeros(c *Columns, pairs []columnPair) {
	if p.Server.hasMode("NO_AUTO_VALUE_ON_ZERO") {
		return
	}
	for _, pair := range pairs {
		if !pair.to.AutoIncrement || pair.from.AutoIncrement {
			continue
		}
		for i, m := range c.Mappings {
			if m.Shadow != pair.to.Name {
				continue
			}
			number := m.Expr
			if pair.from.Family() != "integer" {
				number = "ROUND(" + number + ")"
			}
			c.Mappings[i].Expr = fmt.Sprintf("IF(%s = 0, CAST(CONCAT('x', %s) AS UNSIGNED), %[2]s)", number, m.Expr)
			c.Mappings[i].Fits = false
		}
	}
}

// refuseNulls makes syncs fail at a NULL in a column that becomes TIMESTAMP NOT NULL. Every server's own ALTER writes the time of
// the ALTER for it, which a run cannot know. MySQL's INSERT refuses it under explicit_defaults_for_timestamp, MariaDB's never does.
func (p *Plan) refuseNulls(c *Columns, pairs []columnPair) {
	for _, pair := range pairs {
		if !p.Server.Version.MariaDB || pair.to.DataType != "timestamp" || pair.to.Nullable || !pair.from.Nullable {
			continue
		}
		for i, m := range c.Mappings {
			if m.Shadow == pair.to.Name {
				c.Mappings[i].Expr = fmt.Sprintf("IF(ISNULL(%s) AND CAST(%s AS SIGNED) = 0, NULL, %s)",
					schema.Quote(m.Source), schema.Literal("NULL in column "+m.Source), m.Expr)
			}
		}
	}
}

// keyChange compares a key column. If the shadow computes the column, it must compute it as the
// source does, and from the same values.
func (c *Columns) keyChange(p columnPair) (Change, error) {
	change := changeOf(p.from, p.to)
	if p.to.Generated == schema.NotGenerated {
		if why := keyLoss(p.from, p.to); why != "" {
			return 0, fmt.Errorf("%w: %s: choose another key with --key", ErrRefused, why)
		}
		return change, nil
	}
	if p.from.Expression != p.to.Expression || change != Same {
		return 0, &unfollowed{fmt.Sprintf("key column %s: the shadow computes it otherwise than the source", p.from.Name)}
	}
	for _, m := range c.Mappings {
		if m.Change != Same && mentions(p.from.Expression, m.Source) {
			return 0, &unfollowed{fmt.Sprintf("key column %s is computed from column %s, which the ALTER changes", p.from.Name, m.Source)}
		}
	}
	return Same, nil
}

// filled refuses an undo of a change that has filled up the values of a key column with zero bytes: the old table does not
// have the rows under these values.
func filled(p columnPair) error {
	if p.from.DataType == "binary" && p.to.DataType != "binary" {
		return &unfollowed{fmt.Sprintf("the change has filled up the values of key column %s with zero bytes", p.from.Name)}
	}
	return nil
}

// mentions reports whether an expression of SHOW CREATE TABLE names the column.
func mentions(expression, column string) bool {
	return strings.Contains(strings.ToLower(expression), strings.ToLower(schema.Quote(column)))
}

// columnPair is a column of the source and the shadow's column that continues it.
type columnPair struct{ from, to schema.Column }

// pairsOf has the names of the columns that the two tables do not both compute.
func pairsOf(pairs []columnPair) map[string]string {
	names := map[string]string{}
	for _, p := range pairs {
		if p.from.Generated == schema.NotGenerated || p.to.Generated == schema.NotGenerated {
			names[p.to.Name] = p.from.Name
		}
	}
	return names
}

// stored leaves out the columns that the shadow computes.
func stored(pairs []columnPair, mariadb bool) []Mapping {
	var mappings []Mapping
	for _, p := range pairs {
		if p.to.Generated == schema.NotGenerated {
			mappings = append(mappings, Mapping{
				Source:        p.from.Name,
				Shadow:        p.to.Name,
				Expr:          expression(p.from, p.to, mariadb),
				Change:        changeOf(p.from, p.to),
				Exact:         exact(p.from, p.to),
				ToDate:        p.to.DataType == "date" || p.to.DataType == "datetime",
				Text:          isText(p.from) && p.from.Family() != "json",
				Fits:          Fits(p.from, p.to),
				Losses:        losses(p.from, p.to),
				ZoneSensitive: (p.from.DataType == "timestamp") != (p.to.DataType == "timestamp") || dated(p.from, p.to),
				Dated:         dated(p.from, p.to),
				toChar:        p.to.DataType == "char",
			})
		}
	}
	return mappings
}

// dated reports whether a conversion adds the day of the statement.
func dated(from, to schema.Column) bool {
	return from.DataType == "time" &&
		(to.DataType == "date" || to.DataType == "datetime" || to.DataType == "timestamp" || to.DataType == "year")
}

// MapColumns pairs the columns of source and shadow for INSERT INTO shadow (...) SELECT ... FROM
// source.
//
// It leaves out generated columns of the shadow. It takes a generated column of the source if the
// shadow's column is a plain one. userMap maps new names to old names, "" for a new column; it
// takes precedence over what was read of the ALTER.
func MapColumns(source, shadow *schema.Table, alter *ddl.Alter, userMap map[string]string) ([]Mapping, error) {
	m := mapper{source: source, shadow: shadow, alter: alter, user: userMap}
	pairs, err := m.pairs()
	return stored(pairs, false), err
}
