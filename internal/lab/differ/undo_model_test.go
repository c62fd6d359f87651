package differ

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// judge compares the table after an undo with what the server makes of each row of the table before.
func (u *undoCase) judge(ctx context.Context, s *scene, h *how, undone []string) (Verdict, error) {
	saved, err := leftovers.New(u.pool, u.tables[0], plan.Undoing).UndoOfAlter(ctx)
	if err != nil {
		return Verdict{Wrong, "the undo is not open", err.Error()}, nil
	}
	m, err := u.model(ctx, s, h, u.tables[0].Sibling(saved.Undo.Old))
	if err != nil {
		return Verdict{}, err
	}
	defer m.close()
	parked, err := u.parkedRows(ctx, s)
	if err != nil {
		return Verdict{}, err
	}
	u.parked = u.parked || len(parked) > 0
	if left, err := u.left(ctx); left != "" || err != nil {
		return Verdict{Wrong, "left", left}, err
	}
	rest := slices.Clone(undone)
	all := 0
	known := func(r string) bool { return slices.Contains(s.old, r) || slices.Contains(m.before, r) }
	for n, row := range m.rows {
		if i := slices.Index(parked, row.text); i >= 0 {
			parked = slices.Delete(parked, i, i+1)
			m.rows[n].parked = true
			all++
			continue
		}
		i := slices.IndexFunc(rest, func(r string) bool { return slices.Contains(row.may, r) })
		if i < 0 {
			return Verdict{Wrong, "rows", fmt.Sprintf("row %s (owners %v, touched %v) is as none of\n%q\nThe rows are\n%q\nparked %q\nrefused: %v",
				row.text, row.owners, row.touched, row.may, rest, parked, row.refused)}, nil
		}
		rest = slices.Delete(rest, i, i+1)
	}
	switch {
	case len(parked) > 0:
		return Verdict{Wrong, "parked rows", fmt.Sprintf("%q are parked, and not in the table", parked)}, nil
	case len(rest) > 0 && !(u.parked && s.lazy && !slices.ContainsFunc(rest, func(r string) bool { return !known(r) })):
		return Verdict{Wrong, "more rows", fmt.Sprintf("%q", rest)}, nil
	case all > 0 && !s.filled && !s.dated:
		if refused, err := m.refuses(ctx); err != nil || !refused {
			return Verdict{Wrong, "parked without a reason", fmt.Sprint(err)}, nil
		}
	}
	return u.judgeValues(ctx, s, m)
}

// parkedRows are the rows that this undo has parked.
func (u *undoCase) parkedRows(ctx context.Context, s *scene) (rows []string, err error) {
	names, err := u.names(ctx)
	if err != nil {
		return nil, err
	}
	var columns []string
	for _, c := range s.columns {
		columns = append(columns, c.Name)
	}
	for _, n := range names {
		if isParked(n) && !slices.Contains(s.seen, n) {
			more, err := u.column(ctx, "SELECT "+textOf(columns)+" FROM "+u.tables[0].Sibling(n).Quoted())
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

func isParked(table string) bool { return strings.HasPrefix(table, "t_parked") && !isValues(table) }
func isValues(table string) bool { return strings.HasPrefix(table, "t_parked_values") }

// judgeValues compares the values that dropped columns had in the parked rows with those that a table has for them.
func (u *undoCase) judgeValues(ctx context.Context, s *scene, m *model) (Verdict, error) {
	names, err := u.names(ctx)
	if err != nil || len(s.kept) == 0 || len(s.key) == 0 {
		return Verdict{}, err
	}
	kept, err := m.texts(ctx, "before_it", s.kept)
	if err != nil {
		return Verdict{}, err
	}
	key := keyText(s)
	own, err := u.column(ctx, "SELECT "+key+" FROM "+u.tables[1].Sibling("now").Quoted()+" ORDER BY midstream_rn")
	if err != nil {
		return Verdict{}, err
	}
	given := map[string]string{} // by key
	for _, n := range names {
		if !isValues(n) || slices.Contains(s.seen, n) {
			continue
		}
		u.values[s.redo] = append(u.values[s.redo], n)
		definition, err := schema.Load(ctx, u.pool.DB(), u.tables[0].Sibling(n))
		if err != nil {
			return Verdict{}, err
		}
		var columns []string
		for _, c := range definition.Columns[len(definition.Columns)-len(s.kept):] {
			columns = append(columns, c.Name)
		}
		of := " FROM " + definition.Name.Quoted() + " ORDER BY " + quoted(s.present, "")
		keys, err := u.column(ctx, "SELECT "+key+of)
		if err != nil {
			return Verdict{}, err
		}
		values, err := u.column(ctx, "SELECT "+textOf(columns)+of)
		if err != nil {
			return Verdict{}, err
		}
		for i, k := range keys {
			given[k] = values[i]
		}
	}
	for i, row := range m.rows {
		value, is := given[own[i]]
		delete(given, own[i])
		if is != row.parked && !(row.parked && slices.Contains(row.owners, 0)) ||
			is && !slices.ContainsFunc(row.owners, func(o int) bool { return o > 0 && kept[o-1] == value }) {
			return Verdict{Wrong, "values of parked rows", fmt.Sprintf("row %s (parked %v, owners %v) has the values %q (%v), of %q",
				row.text, row.parked, row.owners, value, is, kept)}, nil
		}
	}
	if len(given) > 0 {
		return Verdict{Wrong, "values of parked rows", fmt.Sprintf("%q are of no row", given)}, nil
	}
	return Verdict{}, nil
}

// keyText is the key as text. The table of values has numbers for the members of an ENUM or SET, as the binlog has.
func keyText(s *scene) string {
	text := textOf(s.present)
	for _, c := range s.columns {
		if c.HasMembers() {
			text = strings.ReplaceAll(text, "CAST("+schema.Quote(c.Name)+" AS", "CAST("+schema.Quote(c.Name)+" + 0 AS")
		}
	}
	return text
}

// modelRow is a row of the table before the undo, and what may become of it.
type modelRow struct {
	text    string
	parked  bool
	owners  []int
	touched bool
	may     []string
	refused error
}

// model is what the server makes of rows.
type model struct {
	*session
	u      *undoCase
	s      *scene
	h      *how
	all    []string // columns of the table after the undo
	rows   []modelRow
	before []string
}

// model tries each row of the table that an undo has put aside.
func (u *undoCase) model(ctx context.Context, s *scene, h *how, aside schema.Name) (_ *model, err error) {
	lax, err := u.laxSession(ctx)
	if err != nil {
		return nil, err
	}
	m := &model{session: lax, u: u, s: s, h: h}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	var names []string
	for _, c := range s.columns {
		names = append(names, c.Name)
	}
	given := slices.Clone(names)
	for _, fresh := range s.pairs {
		if !slices.Contains(given, fresh) { // a column that the change has made a generated one
			given = append(given, fresh)
		}
	}
	text := "CREATE TABLE t LIKE " + u.tables[0].Quoted()
	if err := m.exec(ctx, text); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	if err := m.numbered(ctx, "now", given, aside); err != nil {
		return nil, err
	}
	definition, err := schema.Load(ctx, u.pool.DB(), u.tables[0])
	if err != nil {
		return nil, err
	}
	for _, c := range definition.Columns {
		m.all = append(m.all, c.Name)
	}
	if err := m.convert(ctx, definition); err != nil {
		return nil, err
	}
	was, err := m.asItWas(ctx)
	if err != nil {
		return nil, err
	}
	m.before = was[1:]
	now, err := m.texts(ctx, "now", names)
	if err != nil {
		return nil, err
	}
	var keys []string
	if len(s.present) > 0 {
		if keys, err = m.texts(ctx, "now", s.present); err != nil {
			return nil, err
		}
	}
	byKey := map[string][]int{}
	if !s.vague {
		found, err := u.joined(ctx, s, schema.Name{Schema: u.tables[1].Schema, Table: "now"}.Quoted(), textOfAs(s.present, "n."))
		if err != nil {
			s.vague = true
		}
		for _, f := range found {
			byKey[f.text] = append(byKey[f.text], f.row)
		}
	}
	then := s.then
	for i, text := range now {
		row := modelRow{text: text, touched: then[text] == 0}
		if then[text] > 0 {
			then[text]--
		}
		if s.vague {
			row.owners = []int{0}
			for n := range m.before {
				row.owners = append(row.owners, n+1)
			}
		} else {
			row.owners = m.ownersOf(s.owners[keys[i]], byKey[keys[i]], s.passed[keys[i]])
		}
		for _, owner := range row.owners {
			texts, err := m.row(ctx, i+1, owner)
			if err != nil {
				row.refused = err
			}
			asItWas := !row.touched && s.lazy && owner > 0 && owner <= len(s.old) // also if its values were rounded
			if asItWas {
				row.may = append(row.may, was[owner])
			}
			// The triggers log what is written shortly before the swap, too.
			if !asItWas || u.logs || len(keys) > i && s.again[keys[i]] {
				row.may = append(row.may, texts...)
			}
		}
		m.rows = append(m.rows, row)
	}
	return m, nil
}

// asItWas are the rows of before_it from 1, with all of their values.
func (m *model) asItWas(ctx context.Context) ([]string, error) {
	before, err := m.texts(ctx, "before_it", m.s.former)
	if err != nil {
		return nil, err
	}
	was := make([]string, len(before)+1)
	for i := range before {
		if was[i+1], err = m.try(ctx, "INSERT INTO t (%s) SELECT %s FROM before_it s WHERE midstream_rn = %d",
			quoted(m.s.former, ""), quoted(m.s.former, "s."), i+1); err != nil {
			was[i+1] = "" // such as a default that is in no partition
		}
		if len(m.s.texts[before[i]]) == 1 { // as a lax session has written it
			was[i+1] = m.s.texts[before[i]][0]
		}
	}
	return was, nil
}

// ownersOf are the rows of before_it of which a row may have the kept values. same are those with its key, and passed those whose keys
// it had.
func (m *model) ownersOf(owners, same, passed []int) []int {
	list := slices.Clone(owners)
	if m.s.follows && !m.u.logs && len(list) > 0 {
		slices.Sort(list)
		return slices.Compact(list)
	}
	if len(list) == 0 || slices.Contains(list, 0) || m.s.moved && (!m.s.lazy || m.u.logs) {
		if len(same) > 0 && !m.s.moved {
			list = slices.DeleteFunc(list, func(o int) bool { return o == 0 })
		}
		list = append(list, same...)
	}
	if len(list) == 0 || m.s.moved && (!m.s.lazy || m.u.logs) {
		list = append(append(list, 0), passed...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// texts are the rows of a table of the model, as read reads those of the run.
func (m *model) texts(ctx context.Context, table string, columns []string) ([]string, error) {
	return m.u.column(ctx, "SELECT "+textOf(columns)+" FROM "+m.u.tables[1].Sibling(table).Quoted()+" ORDER BY midstream_rn")
}

// try inserts a row into the empty model, and returns its text.
func (m *model) try(ctx context.Context, text string, args ...any) (string, error) {
	if err := m.exec(ctx, "DELETE FROM t"); err != nil {
		return "", err
	}
	if err := m.exec(ctx, fmt.Sprintf(text, args...)); err != nil {
		return "", err
	}
	rows, err := m.u.column(ctx, "SELECT "+textOf(m.all)+" FROM "+m.u.tables[1].Sibling("t").Quoted())
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	return strings.Join(rows, ""), err
}

// strictly are the modes in which a row is tried: as the server is, and with every date.
var strictly = [2]string{
	"SET SESSION sql_mode = CONCAT(@@GLOBAL.sql_mode, ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO')",
	"SET SESSION sql_mode = CONCAT(REPLACE(REPLACE(@@GLOBAL.sql_mode, 'NO_ZERO_IN_DATE', ''), 'NO_ZERO_DATE', '')," +
		" ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES')",
}

// laxly takes values as they are.
const laxly = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'"

// convert has the server's own ALTER give the present values the former types, in a table: of all rows at once, or of each.
func (m *model) convert(ctx context.Context, former *schema.Table) error {
	var selects, modifies []string
	for _, c := range former.Columns {
		fresh, paired := m.s.pairs[c.Name]
		if !paired || c.Generated != schema.NotGenerated {
			continue
		}
		selects = append(selects, schema.Quote(fresh)+" AS "+schema.Quote(c.Name))
		modify := "MODIFY " + schema.Quote(c.Name) + " " + c.Type
		if c.Collation != "" && c.Charset != "binary" && c.DataType != "json" {
			modify += " CHARACTER SET " + c.Charset + " COLLATE " + c.Collation
		}
		modifies = append(modifies, modify+map[bool]string{true: " NULL", false: " NOT NULL"}[c.Nullable])
	}
	make := func(table, where, mode string) error {
		for _, text := range []string{
			strictly[1], "DROP TABLE IF EXISTS " + table, laxly,
			"CREATE TABLE " + table + " SELECT midstream_rn, " + strings.Join(selects, ", ") + " FROM now" + where,
			mode, "ALTER TABLE " + table + " " + strings.Join(modifies, ", "),
		} {
			if err := m.exec(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	}
	failed := make("converted", "", strictly[1])
	if failed == nil {
		return nil
	}
	if err := make("converted", " WHERE FALSE", laxly); err != nil { // such as SET('é', 'e'), for which a strict session has an error
		return err
	}
	rows, err := m.texts(ctx, "now", []string{"midstream_rn"})
	if err != nil {
		return err
	}
	for i := range rows {
		if make("alone", fmt.Sprintf(" WHERE midstream_rn = %d", i+1), strictly[1]) == nil {
			for _, text := range []string{laxly, "INSERT INTO converted SELECT * FROM alone"} {
				if err := m.exec(ctx, text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// row is what the server makes of a row, by its ALTER and by an INSERT, with the kept values of a row of before_it; 0 for
// the defaults.
func (m *model) row(ctx context.Context, n, owner int) (texts []string, err error) {
	for i, mode := range append(strictly[:], laxly) {
		if err := m.exec(ctx, mode); err != nil {
			return nil, err
		}
		text, failed := m.try(ctx, "%s", m.insert(n, owner, i == 2))
		if failed == nil {
			texts = append(texts, text)
		} else if !errors.Is(failed, sql.ErrNoRows) {
			err = failed
		}
	}
	return texts, err
}

// insert adds a row to the model, as the server's ALTER has converted it, or as an INSERT does.
func (m *model) insert(n, owner int, converted bool) string {
	var names, values []string
	for _, c := range m.s.former {
		fresh, paired := m.s.pairs[c]
		fill, filled := m.h.fills[c]
		switch {
		case paired && converted:
			names, values = append(names, c), append(values, "x."+schema.Quote(c))
		case paired && m.s.bytes[c]: // the texts come back as they went
			names, values = append(names, c), append(values, "CONVERT(n."+schema.Quote(fresh)+" USING utf8mb4)")
		case paired && m.s.longer[c] > 0: // the zero bytes that the change has added go
			names = append(names, c)
			values = append(values, fmt.Sprintf("IF(LENGTH(TRIM(TRAILING X'00' FROM n.%[1]s)) <= %[2]d, LEFT(n.%[1]s, %[2]d), n.%[1]s)",
				schema.Quote(fresh), m.s.longer[c]))
		case paired:
			names, values = append(names, c), append(values, "n."+schema.Quote(fresh))
		case owner > 0:
			names, values = append(names, c), append(values, "s."+schema.Quote(c))
		case filled:
			names, values = append(names, c), append(values, fill)
		}
	}
	from := "now n"
	if converted {
		from += " JOIN converted x ON x.midstream_rn = n.midstream_rn"
	}
	return fmt.Sprintf("INSERT INTO t (%s) SELECT %s FROM %s LEFT JOIN before_it s ON s.midstream_rn = %d WHERE n.midstream_rn = %d",
		quoted(names, ""), strings.Join(values, ", "), from, owner, n)
}

// refuses says that the server does not take all rows at once, or that its ALTER has refused one.
func (m *model) refuses(ctx context.Context) (bool, error) {
	converted, err := m.texts(ctx, "converted", []string{"midstream_rn"})
	if err != nil || len(converted) < len(m.rows) {
		return err == nil, err
	}
	for _, text := range []string{"DELETE FROM t", strictly[0]} {
		if err := m.exec(ctx, text); err != nil {
			return false, err
		}
	}
	for i, row := range m.rows {
		if err := m.exec(ctx, m.insert(i+1, row.owners[0], false)); err != nil {
			return true, nil
		}
	}
	return false, nil
}
