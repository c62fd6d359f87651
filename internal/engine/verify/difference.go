package verify

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Difference is one value that differs.
type Difference struct {
	Key    string // as a literal
	Column string // of the shadow; "" where a table has no such row
	// Expected is the value that the ALTER makes of the source's value, and Found is the shadow's
	// value. Both are for people: shortened, and in hex if the value is binary.
	Expected, Found string
}

// String describes the difference in one line.
func (d Difference) String() string {
	if d.Column == "" {
		return fmt.Sprintf("row %s: %s in the table, %s in the shadow", d.Key, d.Expected, d.Found)
	}
	return fmt.Sprintf("row %s, column %s: %s in the table, %s in the shadow", d.Key, d.Column, d.Expected, d.Found)
}

// Texts describes differences in one line.
func Texts(differences []Difference) string {
	var texts []string
	for _, d := range differences {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}

// These texts describe a difference of a complete row.
const (
	present = "present"
	missing = "missing"
)

// Differences returns how the rows of the keys differ. The keys should be few.
func (v *Verifier) Differences(ctx context.Context, keys []key.Key) ([]Difference, error) {
	defer v.busy()()
	session, err := v.deps.Pool.Session(ctx, v.deps.Spec.Setup()...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var all []Difference
	for _, k := range keys {
		found, err := v.differencesOf(ctx, session, k)
		if dbconn.ValueRefused(err) && v.deps.Unfit != nil {
			continue // it was written since, and its sync will set it apart
		}
		if err != nil {
			return nil, fmt.Errorf("read row %s: %w", v.deps.Spec.Sync.Key.Format(k), err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Fit leaves out the differences of rows that have turned out to be unfit: they have no row in the shadow. A row in left, whose sync
// is still to come, may be one of them.
func (v *Verifier) Fit(differences []Difference, left []key.Key) []Difference {
	names := map[string]bool{}
	for _, k := range slices.Concat(v.deps.Unfit.Keys(), v.open(left)) {
		names[v.deps.Spec.Sync.Key.Format(k)] = true
	}
	return slices.DeleteFunc(slices.Clone(differences), func(d Difference) bool { return names[d.Key] })
}

// Repaired is the number of keys whose rows were synced again. A row that is unfit, or may be (see Fit), is none of them.
func (v *Verifier) Repaired(keys, left []key.Key) int {
	open := v.open(left)
	return len(slices.DeleteFunc(slices.Clone(v.deps.Unfit.Without(keys)), func(k key.Key) bool { return slices.Contains(open, k) }))
}

// open are the keys in left if their rows may be unfit.
func (v *Verifier) open(left []key.Key) []key.Key {
	if v.deps.Unfit == nil {
		return nil
	}
	return left
}

func (v *Verifier) differencesOf(ctx context.Context, session *dbconn.Session, k key.Key) ([]Difference, error) {
	spec := v.deps.Spec
	p := keysPredicate(spec.Sync, []key.Key{k})
	if spec.Staged {
		for _, statement := range spec.fill(p.source) {
			if _, err := session.Exec(ctx, statement); err != nil {
				return nil, err
			}
		}
	}
	name := spec.Sync.Key.Format(k)
	if spec.Sync.ByValue {
		return multiset{spec}.differencesOfValue(ctx, session, name, p)
	}
	all := []Difference{{Key: name, Expected: missing, Found: present}} // if the query finds no row
	columns, found := spec.compared(), 0
	err := session.Rows(ctx, spec.values(p), func(rows *sql.Rows) error {
		if found++; found > 1 && spec.Sync.Loose {
			all = append(all, Difference{Key: name, Expected: "one row", Found: "several"})
			return nil
		}
		all = nil
		var inShadow bool
		cells := make([]struct {
			same            bool
			expected, found sql.NullString
		}, len(columns))
		targets := []any{&inShadow}
		for i := range cells {
			targets = append(targets, &cells[i].same, &cells[i].expected, &cells[i].found)
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if !inShadow {
			all = append(all, Difference{Key: name, Expected: present, Found: missing})
			return nil
		}
		for i, c := range cells {
			if !c.same {
				all = append(all, Difference{Key: name, Column: columns[i].Name, Expected: orNull(c.expected), Found: orNull(c.found)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err = session.Exec(ctx, "COMMIT"); err != nil {
		return nil, err
	}
	computed, err := spec.computedDifferences(ctx, session, name, p)
	if err == nil {
		_, err = session.Exec(ctx, "COMMIT")
	}
	return append(all, computed...), err
}

func orNull(s sql.NullString) string {
	if !s.Valid {
		return "NULL"
	}
	return s.String
}

// values returns a query for the rows in p. It returns whether the shadow has the row. For every
// compared column it returns whether the values are the same, and both values for people.
func (s *Spec) values(p predicate) string {
	exprs := []string{column(s.Sync.Shadow, s.Sync.ShadowKey[0]) + " IS NOT NULL"}
	for _, c := range s.compared() {
		exprs = append(exprs, s.same(c),
			forPeople(c.Type, c.Source), forPeople(c.Type, column(s.Sync.Shadow, c.Name)))
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + s.joined(p)
}

// forPeople returns an expression for a short text of a value.
func forPeople(c schema.Column, value string) string {
	const most = 64
	switch {
	case c.DataType == "bit", c.DataType == "vector", c.Charset == "binary", c.Charset == "" && isGeometry(c.DataType):
		return fmt.Sprintf("CONCAT('0x', LEFT(HEX(%s), %d))", value, most)
	}
	return fmt.Sprintf("LEFT(CAST(%s AS CHAR), %d)", value, most)
}

func isGeometry(dataType string) bool {
	switch dataType {
	case "geometry",
		"point",
		"linestring",
		"polygon",
		"multipoint",
		"multilinestring",
		"multipolygon",
		"geometrycollection",
		"geomcollection":
		return true
	}
	return false
}
