package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// The codes of what an empty copy of the table shows, and of what a copy does not inherit.
const (
	CodeOption    Code = "lost-option"
	CodeDocuments Code = "document-numbers"
	CodeKeyValues Code = "key-values"
	CodeNoFill    Code = "no-fill"
	CodeLiterals  Code = "literals"
)

// Trial is an empty copy of the table, in three states: as CREATE TABLE LIKE made it, as the ALTER
// left it, and after one more ALTER, which set its comment. Settled is nil if the server refused
// the last ALTER. Added is what the server has made of the foreign keys that the ALTER adds.
type Trial struct {
	Copied, Altered, Settled *schema.Table
	Added                    []AddedTrial
}

// checkTrial refuses what a shadow would lose, and columns that it could not be filled with.
func (c *checker) checkTrial() {
	altered := c.table
	if t := c.facts.Trial; t != nil {
		altered = t.Altered
		c.checkCopied(t.Copied)
		c.checkAltered(altered)
		c.checkSettled(altered, t.Settled)
	} else {
		c.checkDirectories()
	}
	c.checkFormats()
	c.checkOverlaps(altered)
	if hasDocumentNumbers(altered) {
		c.block(CodeDocuments, "the table has its own document numbers (FTS_DOC_ID) and a full-text index",
			"the server accepts a row only if its number is above all others (error 182), and a run writes changed rows again",
			"Drop the full-text index first and add it after the run, or run the ALTER natively")
	}
}

// documentNumbers is the name that the column must have, in capitals.
const documentNumbers = "FTS_DOC_ID"

// hasDocumentNumbers reports whether the rows of a table must come in the order of their document
// numbers.
func hasDocumentNumbers(t *schema.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c schema.Column) bool { return c.Name == documentNumbers }) &&
		slices.ContainsFunc(t.Keys, func(k schema.Key) bool { return k.Type == "FULLTEXT" })
}

// directories are the options that name the folders of a table's or a partition's files.
var directories = []string{"DATA DIRECTORY", "INDEX DIRECTORY"}

// checkDirectories refuses file locations that CREATE TABLE LIKE does not copy on every server.
func (c *checker) checkDirectories() {
	for _, name := range directories {
		named := slices.ContainsFunc(c.table.Options, func(o schema.Option) bool { return o.Name == name })
		if named || strings.Contains(strings.ToUpper(c.table.Partitioning), name+" =") {
			c.lost(name)
		}
	}
}

// checkCopied compares a copy of the table with the table.
func (c *checker) checkCopied(copied *schema.Table) {
	for _, option := range c.table.LostIn(copied) {
		if schema.Settable([]schema.Option{option}) == "" {
			c.lost(option.Name)
		}
	}
	if copied.Partitioning != c.table.Partitioning {
		c.lost("an option of its partitions")
	}
}

func (c *checker) lost(option string) {
	c.block(
		CodeOption, "the table has "+option+", which would be lost",
		"CREATE TABLE ... LIKE does not copy it, and no ALTER can set it again",
		natively+", with --method=copy or --method=inplace, or remove the option first",
	)
}

// checkSettled refuses expressions that differ after one more ALTER: MySQL rewrites literals in the
// column's character set, and loses what it then can't show. A run sets the shadow's comment after
// the ALTER.
func (c *checker) checkSettled(altered, settled *schema.Table) {
	// Without foreign keys the operator's ALTER is the last statement that changes the shadow's
	// definition (shadow.Shadow.Unmarked).
	if len(c.table.ForeignKeys) > 0 && Rounds(c.alter, altered) {
		c.block(
			CodeLiterals,
			"the server rounds the default of a FLOAT column to six digits when it alters the table again",
			"a run alters the new table again to carry over foreign keys",
			"Give the default six digits, or run the ALTER natively, with --method=copy or --method=inplace",
		)
	}
	if len(c.table.ForeignKeys) > 0 && Rewritten(altered, settled) {
		c.block(
			CodeLiterals,
			"the server changes or refuses a literal in an expression when it alters the table again",
			"a run alters the new table again to carry over foreign keys",
			"Write the literal in the column's character set, as in _latin1 X'F6', or run the ALTER natively, with --method=copy or --method=inplace",
		)
	}
}

// Rewritten reports whether one more ALTER changes an expression of a table, or is refused (settled is nil). An expression that is only
// spelled in another way is the same.
func Rewritten(altered, settled *schema.Table) bool {
	expressions := func(t *schema.Table) (all []string) {
		for _, check := range t.Checks {
			all = append(all, check.Clause)
		}
		for _, column := range t.Columns {
			all = append(all, column.Definition)
		}
		return all
	}
	return settled == nil || !slices.EqualFunc(expressions(altered), expressions(settled), sameClause)
}

// warnOfMerging warns of values of the followed key that a run refuses.
func (c *checker) warnOfMerging(columns *Columns) {
	for _, m := range columns.Mappings {
		what := fmt.Sprintf("the ALTER changes values of column %s, which the run follows, and two of them may become one", m.Source)
		if m.Change == Same {
			what = fmt.Sprintf("values of column %s, which the run follows, have an empty member, and two of them may be taken for one", m.Source)
		}
		if m.Apart != "" {
			c.warn(
				CodeKeyValues, what,
				"the run takes rows with "+m.Apart+"; any other row ends it, before the copy if it exists then",
				"Choose another key with --key",
			)
		}
	}
}

// checkAltered checks the table that the ALTER makes.
func (c *checker) checkAltered(altered *schema.Table) {
	made := Plan{Source: c.table, Alter: c.alter, Key: c.followed, Map: c.options.Map, Set: c.options.Set}
	if c.followed.Name != "" {
		var no *unfollowed
		var not *unsettable
		switch columns, err := made.Columns(altered); {
		case err == nil:
			c.warnOfMerging(columns)
		case errors.As(err, &not):
			c.block(CodeSet, "--set cannot give column "+not.column+" its values", not.why, not.fix)
		case errors.Is(err, ErrRefused):
			c.block(
				CodeKeyValues, fmt.Sprintf("a run cannot follow the key %s", c.followed.Name), err.Error(),
				"Choose another key with --key",
			)
		case errors.As(err, &no):
			c.block(CodeNoKey, fmt.Sprintf("a run cannot follow the key %s", c.followed.Name), err.Error(), "Choose another key with --key")
		}
	}
	m := mapper{source: c.table, shadow: altered, alter: c.alter, user: c.options.Map}
	pairs, err := m.pairs()
	if err != nil {
		return // the run reports it, from the shadow
	}
	for _, column := range unfilled(altered, pairs, c.facts.Version.MariaDB) {
		if _, zero := zeroes()[column.DataType]; zero && c.facts.ZeroDates || c.options.Set.Of(column.Name) != "" {
			continue
		}
		if column.Temporal() &&
			(slices.ContainsFunc(c.alter.Defined, func(d schema.Column) bool { return strings.EqualFold(d.Name, column.Name) })) {
			continue // checkDates reports it
		}
		what, fix := fmt.Sprintf(
			"the ALTER adds column %s %s NOT NULL without a default", column.Name, strings.ToUpper(column.Type),
		), "Give it a DEFAULT, or let it be NULL"
		if c.empty() {
			c.warn(CodeNoFill, what, "the table is empty: a row that is inserted during the run has no value for it, and ends the run", fix)
		} else {
			c.block(CodeNoFill, what, "existing rows have no valid value for it", fix)
		}
	}
}
