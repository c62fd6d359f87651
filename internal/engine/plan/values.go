package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/engine/key"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Values returns the settings in which the values of rows are computed. They are the server's own,
// as its ALTER has them. Two settings are not available with every key. Then the values must not
// depend on them, or the error is an ErrRefused:
//
//   - The time zone, if the followed key has a TIMESTAMP. The binlog has it in UTC, and in a zone
//     with summer time one local time of the autumn means two moments.
//   - PAD_CHAR_TO_FULL_LENGTH, if the followed key has a CHAR with a NO PAD collation: a literal does
//     not find the padded value, and padded values have another order. An expression then pads the
//     columns that the ALTER converts. In other collations the padded value is equal to the value.
//
// The time zone is the server's only if a value depends on it; otherwise it is UTC, which has no
// ambiguous hour.
func (p *Plan) Values(shadow *schema.Table, columns *Columns) (v dbconn.Values, err error) {
	why := zoned(shadow, columns)
	if why == "" && byZone(p.condition()) {
		why = "the condition of --keep"
	}
	if why != "" {
		v.Zone = p.Server.TimeZone
		if part, is := p.keyOf("timestamp"); is && p.Server.InUTC {
			v.Zone = ""
		} else if is {
			return v, fmt.Errorf("%w: %s depends on the time zone, "+
				"and the key %s has the TIMESTAMP column %s, which must be read in UTC: choose another key with --key", ErrRefused, why, p.Key.Name, part)
		}
	}
	for _, mode := range []string{"NO_UNSIGNED_SUBTRACTION", "TIME_TRUNCATE_FRACTIONAL", "TIME_ROUND_FRACTIONAL", "ALLOW_INVALID_DATES"} {
		if p.Server.hasMode(mode) {
			v.Modes = append(v.Modes, mode)
		}
	}
	if (p.Back != nil || keepsDates(p.Source, columns, p.Key)) && !computesDates(shadow) && !p.Set.dates(p.Source, p.Alter) {
		// The server's ALTER copies them unchanged. An INSERT, and a literal in a key, would refuse
		// days that don't exist. An undo brings back what the change has made of them.
		v.Modes = append(v.Modes, invalidDates)
	}
	virtual := func(c schema.Column) bool { return c.Generated == schema.Virtual }
	v.Virtual = p.Server.Version.MariaDB && slices.ContainsFunc(shadow.Columns, virtual)
	if p.Server.strict() {
		// Without a strict mode the server's ALTER gives NULL. Our statements do the same without
		// these modes.
		v.Modes = append(v.Modes, p.strictModes(shadow, columns)...)
	}
	if p.Server.hasMode(dbconn.PadChar) {
		part, is := p.hiddenByBlanks()
		condition, over := p.condition()
		if why := cmp.Or(padding(condition, over, "the condition of --keep"), padded(p.Source, shadow, columns)); is && why != "" {
			return v, fmt.Errorf("%w: %s depends on the sql_mode %s of the server, and the key %s has the CHAR column %s, "+
				"which is not found under it because of its NO PAD collation: choose another key with --key", ErrRefused, why, dbconn.PadChar, p.Key.Name, part)
		}
		if !is {
			v.Modes = append(v.Modes, dbconn.PadChar)
		}
	}
	return v, nil
}

// keepsDates reports whether the new table, or the followed key, has dates of the table, and the ALTER makes no dates from other values.
func keepsDates(source *schema.Table, columns *Columns, k Key) bool {
	keeps := slices.ContainsFunc(k.Parts, func(p key.Part) bool { return hasDays(p.Column) })
	for _, m := range columns.Mappings {
		from, _ := source.Column(m.Source)
		if m.ToDate && (m.Change != Same || !hasDays(from)) {
			return false
		}
		keeps = keeps || m.ToDate
	}
	return keeps
}

// hasDays reports whether a column has days that may not exist. A TIMESTAMP has not.
func hasDays(c schema.Column) bool { return c.DataType == "date" || c.DataType == "datetime" }

const invalidDates = "ALLOW_INVALID_DATES"

// speaksOfDates matches expressions that may make or read a date without a column of such a type.
var speaksOfDates = regexp.MustCompile(`(?i)date|time|day|month|year|week|quarter|hour|minute|second|interval|now`)

// readsDates reports whether an expression of the table may have another value if days that don't exist are allowed.
func readsDates(expression string, table *schema.Table) bool {
	return expression != "" && (speaksOfDates.MatchString(expression) || slices.ContainsFunc(table.Columns, func(c schema.Column) bool {
		return c.Temporal() && mentions(expression, c.Name)
	}))
}

// computesDates reports whether the table computes a column or a CHECK of dates.
func computesDates(table *schema.Table) bool {
	return computed(table, func(expression string) bool { return readsDates(expression, table) }) != ""
}

// Frozen reports whether values depend on the time of the statement. Then they are computed for the
// moment when the run began, because one ALTER computes all of its rows for one moment.
func Frozen(shadow *schema.Table, columns *Columns) bool {
	if slices.ContainsFunc(columns.Mappings, func(m Mapping) bool { return m.Dated }) {
		return true
	}
	return slices.ContainsFunc(shadow.Columns, func(c schema.Column) bool { return c.Computes() && clock.MatchString(c.Default) })
}

// strictModes are the modes that make a strict session refuse dates and divisions. Dates that are
// copied unchanged may be zero: the server's ALTER keeps them, but a strict INSERT would refuse
// them.
func (p *Plan) strictModes(shadow *schema.Table, columns *Columns) (modes []string) {
	if p.Server.hasMode("ERROR_FOR_DIVISION_BY_ZERO") {
		modes = append(modes, "ERROR_FOR_DIVISION_BY_ZERO")
	}
	for _, m := range columns.Mappings {
		from, _ := p.Source.Column(m.Source)
		if to, _ := shadow.Column(m.Shadow); from.Temporal() && from.Type == to.Type {
			return modes
		}
	}
	if !slices.ContainsFunc(shadow.Columns, schema.Column.Temporal) &&
		!computesDates(shadow) && !p.Set.dates(p.Source, p.Alter) {
		return modes // nothing makes a date; the keys of the source may have zero dates (verify puts them into a table)
	}
	for _, c := range shadow.Columns {
		if strings.Contains(c.Default, "0000-00-00") {
			return modes
		}
	}
	for _, mode := range []string{"NO_ZERO_DATE", "NO_ZERO_IN_DATE"} {
		if p.Server.hasMode(mode) && !p.ZeroDates {
			modes = append(modes, mode)
		}
	}
	return modes
}

// keyOf returns the column of the followed key that has a type.
func (p *Plan) keyOf(dataType string) (column string, is bool) {
	for _, part := range p.Key.Parts {
		if part.Column.DataType == dataType && part.Column.Charset != "binary" {
			return part.Column.Name, true
		}
	}
	return "", false
}

// hiddenByBlanks returns the column of the followed key whose values are not found if they come with their padding.
func (p *Plan) hiddenByBlanks() (column string, is bool) {
	for _, part := range p.Key.Parts {
		if c := part.Column; c.DataType == "char" && c.Charset != "binary" && noPad(c.Collation) {
			return c.Name, true
		}
	}
	return "", false
}

func (s Server) hasMode(mode string) bool { return contains(s.SQLMode, mode) }

// TakesZeroDates reports whether the server's ALTER gives rows the date 0000-00-00. MySQL does so
// with a warning in NO_ZERO_DATE too, if it is not strict.
func (s Server) TakesZeroDates() bool {
	return !s.hasMode("NO_ZERO_DATE") || !s.Version.MariaDB && !s.strict()
}

func (s Server) strict() bool {
	return s.hasMode("STRICT_ALL_TABLES") || s.hasMode("STRICT_TRANS_TABLES")
}

var (
	// zoneFunctions give values that depend on the time zone. Names are as SHOW CREATE TABLE writes
	// them.
	zoneFunctions = regexp.MustCompile(
		`(?i)\b(from_unixtime|unix_timestamp|now|sysdate|localtime|localtimestamp|current_timestamp|current_date|current_time|curdate|curtime|timestamp|to_seconds|to_days)\b`,
	)
	// varying matches functions that give a different value each time.
	varying = regexp.MustCompile(
		`(?i)\b(uuid|uuid_short|uuid_v[47]|sys_guid|rand|random_bytes|sysdate|connection_id|last_insert_id|nextval|lastval)\s*\(|\bnext\s+value\s+for\b`,
	)
	clock = regexp.MustCompile(
		`(?i)\b(now|sysdate|localtime|localtimestamp|current_timestamp|current_date|current_time|curdate|curtime|unix_timestamp|utc_timestamp|utc_date|utc_time)\b`,
	)
)

// Varies reports whether an expression gives a different value each time, so that its values cannot
// be compared.
func Varies(expression string) bool { return varying.MatchString(expression) }

// zoned describes what depends on the time zone, or returns "".
func zoned(shadow *schema.Table, columns *Columns) string {
	for _, m := range columns.Mappings {
		if m.ZoneSensitive && m.Set != "" {
			return "the expression of --set for column " + m.Shadow
		}
		if m.ZoneSensitive {
			return fmt.Sprintf("the conversion of column %s", m.Source)
		}
	}
	moments := func(c schema.Column) bool { return c.DataType == "timestamp" }
	for _, c := range shadow.Columns {
		// Whatever computes a TIMESTAMP gives a local time.
		if _, copied := columns.Pairs[c.Name]; moments(c) && (c.Expression != "" || c.Computes() && !copied) {
			return "column " + c.Name
		}
	}
	return computed(shadow, func(expression string) bool {
		return zoneFunctions.MatchString(expression) || names(expression, shadow, moments)
	})
}

// condition is the condition that chooses rows, of the change or of the one that is taken back, and the table with its columns.
func (p *Plan) condition() (condition string, over *schema.Table) {
	if p.Back != nil && p.Back.Rest != "" {
		return p.Back.Rest, p.Back.Old
	}
	return p.Filter, p.Source
}

// ChoosesByDate reports whether the moment may decide which rows the condition of a plan chooses.
func ChoosesByDate(p *Plan) bool { return ReadsDates(p.condition()) }

// padding returns what an operator's expression is if it may depend on whether CHAR values come with their padding, or "".
func padding(expr string, table *schema.Table, what string) string {
	if slices.ContainsFunc(NamedIn(expr, table), func(c schema.Column) bool { return c.DataType == "char" }) {
		return what
	}
	return ""
}

// pad is for a server with the sql_mode PAD_CHAR_TO_FULL_LENGTH. Its ALTER reads a CHAR with the padding, and a column that is
// shorter than it cuts blanks off. If our sessions cannot have the mode, a sync selects the values with their padding. That
// leaves out columns of the key, and columns with an expression.
func (p *Plan) pad(c *Columns, pairs []columnPair) {
	if !p.Server.hasMode(dbconn.PadChar) {
		return
	}
	_, hidden := p.hiddenByBlanks()
	for i, m := range c.Mappings {
		at := slices.IndexFunc(pairs, func(pair columnPair) bool { return pair.to.Name == m.Shadow })
		from, to := pairs[at].from, pairs[at].to
		inKey := slices.ContainsFunc(p.Key.Parts, func(part key.Part) bool { return part.Column.Name == m.Source })
		switch {
		case from.DataType != "char":
		case !hidden:
			c.Mappings[i].Exact = m.Exact && (m.Fits || m.toChar)
			if noPad(to.Collation) && !inKey && (!m.Fits || m.toChar && to.Length != from.Length) {
				c.Mappings[i].Change = Converted // the two values are not equal under the mode
			}
		case !m.toChar && !inKey && m.Expr == schema.Quote(m.Source):
			c.Mappings[i].Expr, c.Mappings[i].Change, c.Mappings[i].Exact, c.Mappings[i].Fits = fullLength(from), Converted, false, false
		}
	}
}

func fullLength(char schema.Column) string {
	return fmt.Sprintf("RPAD(%s, %d, ' ')", schema.Quote(char.Name), char.Length)
}

// padded describes what depends on whether CHAR values come with their padding, or returns "".
func padded(source, shadow *schema.Table, columns *Columns) string {
	char := func(c schema.Column) bool { return c.DataType == "char" }
	for _, m := range columns.Mappings {
		if why := padding(m.Set, source, "the expression of --set for column "+m.Shadow); why != "" {
			return why
		}
		from, _ := source.Column(m.Source)
		if to, _ := shadow.Column(m.Shadow); char(from) && !char(to) && m.Expr != fullLength(from) {
			return fmt.Sprintf("the conversion of column %s", m.Source)
		}
	}
	return computed(shadow, func(expression string) bool { return names(expression, shadow, char) })
}

// names reports whether an expression of SHOW CREATE TABLE names a column of a kind.
func names(expression string, table *schema.Table, kind func(schema.Column) bool) bool {
	return slices.ContainsFunc(table.Columns, func(c schema.Column) bool { return kind(c) && mentions(expression, c.Name) })
}

// computed returns the column, index or CHECK constraint of the table that has such an expression,
// or "".
func computed(table *schema.Table, such func(expression string) bool) string {
	for _, c := range table.Columns {
		if such(c.Expression) || c.Computes() && such(c.Default) {
			return "column " + c.Name
		}
	}
	for _, k := range table.Keys {
		if slices.ContainsFunc(k.Parts, func(p schema.KeyPart) bool { return such(p.Expression) }) {
			return "index " + k.Name
		}
	}
	for _, check := range table.AllChecks() {
		if such(check.Clause) {
			return "constraint " + check.Name
		}
	}
	return ""
}

// inUTC reports whether the server's sessions work in UTC.
func (f *Facts) inUTC() bool {
	zone := f.TimeZone
	if strings.EqualFold(zone, "SYSTEM") {
		zone = f.SystemTimeZone
	}
	return slices.Contains([]string{"+00:00", "-00:00", "UTC", "Etc/UTC", "GMT", "UCT", "Universal", "Zulu"}, zone)
}
