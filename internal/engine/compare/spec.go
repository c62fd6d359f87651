package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
	"midstream/internal/mysql/schema"
)

// ErrIncomparable means that two tables have no key or no column by which to compare them.
var ErrIncomparable = errors.New("the tables can't be compared")

// Spec is what is compared with what. It is immutable.
type Spec struct {
	// Columns are the columns that both tables have, in the first table's spelling.
	Columns []string
	Only    []string // of one table: table.column

	key   *key.Codec
	sides [2]side
}

// side is one of the two tables.
type side struct {
	sync    *rowsync.Spec // name, key and index; no shadow
	columns []schema.Column
}

// SpecOf finds the key and the columns of two tables. It returns ErrIncomparable with the reason if
// they can't be compared.
func SpecOf(a, b *schema.Table) (*Spec, error) {
	s := &Spec{}
	var other []schema.Column
	var mine []schema.Column
	for _, c := range a.Columns {
		if d, both := b.Column(c.Name); both {
			s.Columns = append(s.Columns, c.Name)
			mine, other = append(mine, c), append(other, d)
		} else {
			s.Only = append(s.Only, a.Name.String()+"."+c.Name)
		}
	}
	for _, c := range b.Columns {
		if _, both := a.Column(c.Name); !both {
			s.Only = append(s.Only, b.Name.String()+"."+c.Name)
		}
	}
	var why []string
	for _, k := range a.Keys {
		theirs, reason := s.use(a, b, k)
		if reason != "" {
			why = append(why, k.Name+": "+reason)
			continue
		}
		s.sides[0] = side{&rowsync.Spec{Source: a.Name, Key: s.key, SourceIndex: k.Name, Partitioned: a.Partitioned}, mine}
		s.sides[1] = side{&rowsync.Spec{Source: b.Name, Key: s.key, SourceIndex: theirs, Partitioned: b.Partitioned}, other}
		return s, nil
	}
	if len(why) == 0 {
		why = []string{a.Name.String() + " has no key"}
	}
	return nil, fmt.Errorf(
		"%w: they need a PRIMARY or UNIQUE key of NOT NULL columns that both have (%s)", ErrIncomparable,
		strings.Join(why, "; "),
	)
}

// use uses a key of the first table if the second table has it too, and returns its name there.
func (s *Spec) use(a, b *schema.Table, k schema.Key) (theirs, why string) {
	if !k.Unique || k.Type != "BTREE" || !k.Visible {
		return "", "it is not unique, or can't be read in order"
	}
	var parts []key.Part
	for _, p := range k.Parts {
		column, ok := a.Column(p.Column)
		if !ok || p.Prefix > 0 || column.Nullable {
			return "", "a part is an expression, a prefix, or may be NULL"
		}
		if other, there := b.Column(column.Name); !there || !sameType(column, other) {
			return "", column.Name + " is another one in " + b.Name.String()
		}
		parts = append(parts, key.Part{Column: column, Descending: p.Descending})
	}
	at := slices.IndexFunc(b.Keys, func(other schema.Key) bool {
		return other.Unique && other.Visible && other.Type == "BTREE" && slices.EqualFunc(other.Parts, k.Parts, samePart)
	})
	if at < 0 {
		return "", b.Name.String() + " has no such key"
	}
	codec, err := key.NewCodec(parts)
	if err != nil {
		return "", err.Error()
	}
	s.key = codec
	return b.Keys[at].Name, ""
}

// sameType reports whether a literal means the same value of both columns, and sorts alike. The
// width in INT(11), which newer servers don't show, is no part of a type.
func sameType(a, b schema.Column) bool {
	return a.DataType == b.DataType && a.Unsigned == b.Unsigned && a.Length == b.Length && a.Scale == b.Scale &&
		a.Fraction == b.Fraction && a.Collation == b.Collation && slices.Equal(a.Members, b.Members)
}

func samePart(a, b schema.KeyPart) bool {
	return strings.EqualFold(a.Column, b.Column) && a.Prefix == b.Prefix && a.Descending == b.Descending && a.Expression == b.Expression
}

// digests returns a query for the keys and digests of the rows under a condition.
func (s *Spec) digests(i int, condition string) string {
	return fmt.Sprintf(
		"SELECT %s, %s FROM %s WHERE %s", strings.Join(s.key.SelectExprs(), ", "), s.sides[i].digest(),
		s.sides[i].from(), condition,
	)
}

// checksum returns a query for the number of rows under a condition and two checksums of their
// digests. The order of rows does not matter.
func (s *Spec) checksum(i int, condition string) string {
	half := func(part string) string {
		return "COALESCE(BIT_XOR(CAST(CONV(" + part + "(digest, 16), 16, 10) AS UNSIGNED)), 0)"
	}
	return fmt.Sprintf("SELECT COUNT(*), %s, %s FROM (SELECT %s AS digest FROM %s WHERE %s) AS digested",
		half("LEFT"), half("RIGHT"), s.sides[i].digest(), s.sides[i].from(), condition)
}

// values returns a query for the values of the rows under a condition, for people.
func (s *Spec) values(i int, condition string) string {
	const most = 64
	var exprs []string
	for _, c := range s.sides[i].columns {
		text := fmt.Sprintf("LEFT(%s, %d)", textOf(c), most)
		if isBinary(c) {
			text = fmt.Sprintf("CONCAT('0x', LEFT(HEX(%s), %d))", schema.Quote(c.Name), most)
		}
		exprs = append(exprs, hashed(textOf(c))+", "+text)
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(exprs, ", "), s.sides[i].from(), condition)
}

func (s side) from() string {
	return s.sync.Source.Quoted() + " FORCE INDEX (" + schema.Quote(s.sync.SourceIndex) + ")"
}

// digest is the expression of a row's digest. NULL differs from every text.
func (s side) digest() string {
	var parts []string
	for _, c := range s.columns {
		parts = append(parts, "IFNULL("+hashed(textOf(c))+", '-')")
	}
	return hashed("CONCAT(" + strings.Join(parts, ", ") + ")")
}

// hashed returns the digest of a text in hex. (Servers from 9.6 on have MD5 and SHA1 only in a
// component.)
func hashed(text string) string { return "SHA2(" + text + ", 256)" }

// textOf returns the expression of a value as text, or as bytes.
func textOf(c schema.Column) string {
	name := schema.Quote(c.Name)
	switch {
	case isBinary(c):
		return name
	case c.DataType == "float", c.DataType == "double", c.DataType == "real":
		return "CONCAT(" + name + " * 1e0)" // a FLOAT's own text has six digits
	case c.Charset != "", c.DataType == "json":
		return "CONVERT(" + name + " USING utf8mb4)"
	}
	return "CAST(" + name + " AS CHAR)"
}

func isBinary(c schema.Column) bool {
	switch c.DataType {
	case "bit", "vector", "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geometrycollection", "geomcollection":
		return true
	}
	return c.Charset == "binary"
}

// Key is the key by which the rows of both tables are found.
func (s *Spec) Key() *key.Codec { return s.key }

// Digest returns the expression of a row's digest, over the columns of the first table.
func (s *Spec) Digest() string { return s.sides[0].digest() }
