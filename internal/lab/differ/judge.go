package differ

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/engine/failure"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/engine/rowsync"
	"midstream/internal/engine/shadow"
	"midstream/internal/lab/oracle"
	"midstream/internal/mysql/dbconn"
)

// Outcome is what has become of a case.
type Outcome string

// The outcomes.
const (
	Equal  Outcome = "equal"
	Both   Outcome = "refused by both"
	OnlyUs Outcome = "refused only by us"
	// Decided is a run that ends because the server would change values, without an error, as its
	// sql_mode is not strict, or as it reads texts that way (decision 3 of docs/design.md).
	Decided Outcome = "refused by decision"
	// OnlyDone is a run that keeps values which the server's own ALTER refuses in its sql_mode, and
	// takes in a laxer one.
	OnlyDone Outcome = "done only by us"
	// Respelled is a case that is equal but for how the server writes constants (oracle.Respelled).
	Respelled Outcome = "equal and respelled"
	Wrong     Outcome = "wrong"
	Invalid   Outcome = "no such table" // the server takes no such CREATE TABLE
)

// byCopy is the algorithm of the oracle: the server reads and writes every row.
const byCopy = "COPY"

// inMode has a session take an sql_mode that is made of its own, which is in @mode. With
// EMPTY_STRING_IS_NULL a REPLACE by nothing gives NULL.
func inMode(mode string) []string {
	return []string{"SET @mode = @@sql_mode", "SET SESSION sql_mode = ''", "SET SESSION sql_mode = " + mode}
}

// laxDates has a session take every date, lax every other value, and laxest both.
var (
	laxDates = inMode("CONCAT(REPLACE(REPLACE(REPLACE(@mode, 'NO_ZERO_IN_DATE', ''), 'NO_ZERO_DATE', ''), 'TRADITIONAL', ''), ',ALLOW_INVALID_DATES')")
	lax      = inMode("REPLACE(REPLACE(@mode, 'STRICT_TRANS_TABLES', ''), 'STRICT_ALL_TABLES', '')")
	laxest   = inMode("CONCAT(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(@mode, 'STRICT_TRANS_TABLES', ''), 'STRICT_ALL_TABLES', '')," +
		" 'NO_ZERO_IN_DATE', ''), 'NO_ZERO_DATE', ''), 'TRADITIONAL', ''), ',ALLOW_INVALID_DATES')")
)

// Verdict is an outcome, and for those that need one a reason: Kind is the same for cases that may have one cause.
type Verdict struct {
	Outcome Outcome
	Kind    string
	Text    string
}

// Try runs a case and judges it.
func (b *bench) Try(ctx context.Context, c *Case) Verdict {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	v, err := b.try(ctx, c)
	return orFailed(ctx, v, err)
}

// orFailed is the verdict of a case, or that of the error that has ended its trial.
func orFailed(ctx context.Context, v Verdict, err error) Verdict {
	var no *invalid
	switch {
	case errors.As(err, &no):
		return Verdict{Invalid, fmt.Sprint(dbconn.Number(no.error)), err.Error()}
	case err != nil && ctx.Err() != nil:
		return Verdict{Wrong, "hang", err.Error()}
	case err != nil:
		return Verdict{Wrong, "the bench fails", err.Error()}
	}
	return v
}

func (b *bench) try(ctx context.Context, c *Case) (Verdict, error) {
	app, err := b.fresh(ctx, c, b.tables[0].Schema)
	if err != nil {
		return Verdict{}, err
	}
	defer app.close()
	w := &writer{of: c.statements, app: app, ctx: ctx, free: make(chan struct{})}
	result, ours := b.run(ctx, c, w)
	if ctx.Err() != nil {
		return Verdict{Wrong, "hang in " + string(w.phase), fmt.Sprint(ours)}, nil
	}
	w.mu.Lock()
	log := w.log
	w.mu.Unlock()
	left, err := b.left(ctx, result.Swapped && ours == nil, "t")
	if err != nil {
		return Verdict{}, err
	}
	if left != "" {
		return Verdict{Wrong, "left", fmt.Sprintf("left: %s; error: %v", left, ours)}, nil
	}
	if ours != nil {
		if v, err := b.untouched(ctx, c, log, ours); v.Outcome != "" || err != nil {
			return v, err
		}
	}
	failed, copied := b.twin(ctx, c, log, byCopy)
	theirs := copied
	if failed == nil && copied != nil { // a copy may fail where the server has a lighter way
		failed, theirs = b.twin(ctx, c, log, "")
	}
	return b.judge(ctx, c, log, ours, copied, theirs, failed)
}

// judge compares the run's error, if there is one, and its table with the server's: by a copy, and
// in the end by any algorithm.
func (b *bench) judge(ctx context.Context, c *Case, log []done, ours, copied, theirs, failed error) (Verdict, error) {
	switch {
	case failed != nil:
		return Verdict{}, failed
	case theirs == nil && copied != nil && ours != nil && rowsRefused(ours) && dbconn.Number(ours) == dbconn.Number(copied):
		return Verdict{Both, "only a copy, by rows", fmt.Sprintf("%v\nthe server, by a copy: %v", ours, copied)}, nil
	case ours == nil && theirs != nil:
		return b.onlyDone(ctx, c, log, theirs)
	case theirs != nil:
		return Verdict{Both, reason(ours), fmt.Sprintf("%v\nthe server: %v", ours, theirs)}, nil
	case ours != nil:
		return b.onlyOurs(ctx, c, log, ours)
	}
	differences, err := oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
	if err != nil {
		if b.unreadable(ctx, err) {
			return Verdict{Both, fmt.Sprintf("the server cannot read what it made: %d", dbconn.Number(err)), err.Error()}, nil
		}
		return Verdict{}, err
	}
	if len(differences) == 1 && same(differences) {
		return Verdict{Respelled, "", differences[0]}, nil
	}
	if len(differences) > 0 {
		// The server's ALTER makes dates 0000-00-00 which its sql_mode does not take, if it is not strict.
		if kept, err := b.keepsDates(ctx, c, log); kept && err == nil {
			return Verdict{OnlyDone, "dates are kept", strings.Join(differences, "\n")}, nil
		}
		// 5.7 and 8.0 keep old values of a generated column in place, where their copy refuses one of them.
		if only, err := b.onlyOldComputed(ctx, c, log, copied); only && err == nil {
			return Verdict{OnlyDone, "a value that a generated column had", strings.Join(differences, "\n")}, nil
		}
		for _, like := range []func(context.Context, *Case, []done) (bool, error){b.lighter, b.reopened} {
			if is, err := like(ctx, c, log); is && err == nil {
				return Verdict{Outcome: Equal}, nil
			}
		}
		what, _, _ := strings.Cut(differences[0], ":")
		if strings.HasPrefix(what, "index ") {
			what = "index"
		}
		return Verdict{Wrong, "differs: " + what, strings.Join(differences, "\n")}, nil
	}
	return Verdict{Outcome: Equal}, nil
}

// emptyMember is the empty member in the definition of a SET.
var emptyMember = regexp.MustCompile(`[(,]''[,)]`)

// lighter says that the ALTER changes a SET with an empty member, and that the run's table is what the server makes by the way
// that it chooses itself. Its copy reads the values as texts, and loses that member.
func (b *bench) lighter(ctx context.Context, c *Case, log []done) (bool, error) {
	changed := func(column Column) bool {
		return column.Kind.family == sets && emptyMember.MatchString(column.Kind.sql) && c.redefines(column)
	}
	if !slices.ContainsFunc(c.Columns, changed) {
		return false, nil
	}
	if failed, refused := b.twin(ctx, c, log, ""); failed != nil || refused != nil {
		return false, failed
	}
	differences, err := oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
	return err == nil && same(differences), err
}

// reopened says that the run's table is what the server makes if the table is opened again before the writes during the run, or
// before each of them. MySQL 8.0 and later count the number of a failed insertion then, and not before: an AUTO_INCREMENT column
// goes on at 17 and not 16. The server opens a table again at any time.
func (b *bench) reopened(ctx context.Context, c *Case, log []done) (bool, error) {
	numbered := func(column Column) bool { return strings.Contains(column.Attrs, "AUTO_INCREMENT") }
	if !serverOf(c.Version).eight() || !slices.ContainsFunc(c.Columns, numbered) {
		return false, nil
	}
	again := done{sql: "FLUSH TABLES t"}
	each := []done{}
	for _, d := range log {
		each = append(each, again, d)
	}
	for _, writes := range [][]done{append([]done{again}, log...), append(each, again)} {
		if failed, refused := b.twin(ctx, c, writes, byCopy); failed != nil || refused != nil {
			continue // a number that comes or fails now is no proof
		}
		differences, err := oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
		if err != nil || same(differences) {
			return err == nil, err
		}
	}
	return false, nil
}

// onlyDone judges a run that is done where the server refuses the ALTER.
func (b *bench) onlyDone(ctx context.Context, c *Case, log []done, theirs error) (Verdict, error) {
	if kept, err := b.keepsDates(ctx, c, log); kept || err != nil {
		return Verdict{OnlyDone, fmt.Sprint(dbconn.Number(theirs)), theirs.Error()}, err
	}
	if only, err := b.onlyOldComputed(ctx, c, log, theirs); only || err != nil {
		return Verdict{OnlyDone, "a value that a generated column had", theirs.Error()}, err
	}
	return Verdict{Wrong, fmt.Sprintf("done, and the server refuses with %d", dbconn.Number(theirs)), theirs.Error()}, nil
}

// onlyOldComputed says that the server's copy refuses nothing but an old value of a generated column: without strict mode, it makes
// the run's table.
func (b *bench) onlyOldComputed(ctx context.Context, c *Case, log []done, refusal error) (bool, error) {
	if refusal == nil || !c.oldComputed(refusal) {
		return false, nil
	}
	for _, mode := range [][]string{lax, laxest} { // the first makes 0000-00-00 of dates that the run keeps
		if failed, refused := b.twin(ctx, c, log, byCopy, mode...); failed == nil && refused == nil {
			differences, err := oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
			if same(differences) || err != nil {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// keepsDates says that the run's table is what the server makes if it keeps every date. A generated column is then
// either what the server computes while it keeps dates, or what it computes of the kept dates in its own sql_mode, which is
// NULL for a day that does not exist.
func (b *bench) keepsDates(ctx context.Context, c *Case, log []done) (bool, error) {
	if failed, refused := b.twin(ctx, c, log, byCopy, laxDates...); failed != nil || refused != nil {
		return false, nil
	}
	differences, err := oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
	if err != nil || same(differences) {
		return err == nil, err
	}
	if b.recompute(ctx) != nil {
		return false, nil
	}
	differences, err = oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
	return err == nil && same(differences), err
}

// recompute has the server write every row of the twin again in its own settings, which computes the generated columns.
// A column that takes its own value keeps every date.
func (b *bench) recompute(ctx context.Context) error {
	var names []string
	rows, err := b.admin.QueryContext(ctx, "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?"+
		" AND IFNULL(generation_expression, '') = ''", b.tables[1].Schema, b.tables[1].Table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, quote(name)+" = "+quote(name))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s, err := b.session(ctx, b.tables[1].Schema, "SET SESSION autocommit = 1, completion_type = 0, sql_safe_updates = 0",
		"UPDATE t SET "+strings.Join(names, ", "))
	if err == nil {
		s.close()
	}
	return err
}

// oldComputed says that the server has refused a value of a generated column that the ALTER drops
// or changes, or that is computed from such a column. It computes all columns of the old table when
// it copies rows, those too.
func (c *Case) oldComputed(theirs error) bool {
	return slices.ContainsFunc(c.Columns, func(column Column) bool {
		about := strings.Contains(theirs.Error(), "for column '"+column.Name+"'") ||
			strings.Contains(theirs.Error(), "`t`."+quote(column.Name))
		source := func(other Column) bool {
			return strings.Contains(column.Attrs, quote(other.Name)) && (c.redefines(other) || c.renames(other))
		}
		return column.Generated && about && (c.redefines(column) || slices.ContainsFunc(c.Columns, source))
	})
}

// renames says that the ALTER has a column's name in a RENAME COLUMN: an expression may then name another column.
func (c *Case) renames(column Column) bool {
	return slices.ContainsFunc(c.Clauses, func(clause string) bool {
		return strings.HasPrefix(clause, "RENAME COLUMN") && strings.Contains(strings.ReplaceAll(clause, `"`, "`"), quote(column.Name))
	})
}

// redefines says that the ALTER drops or changes a column.
func (c *Case) redefines(column Column) bool {
	return slices.ContainsFunc(c.Clauses, func(clause string) bool {
		named := strings.Contains(strings.ReplaceAll(clause, `"`, "`"), quote(column.Name))
		return strings.HasPrefix(clause, "CONVERT TO") ||
			named && (strings.HasPrefix(clause, "DROP COLUMN") || strings.HasPrefix(clause, "MODIFY") || strings.HasPrefix(clause, "CHANGE"))
	})
}

// cutsTexts says that the ALTER gives a text another type. MySQL's own ALTER reads a number at the
// text's beginning and drops the rest, without an error: 7 of '7 apples' in a TEXT, 1 of '1.5' for a BIT.
// 5.7 takes 8 bytes of a geometry for a BIT(64).
// MariaDB makes 0 of 'Ä', in utf16, utf32 and ucs2 only.
func (c *Case) cutsTexts() bool {
	return slices.ContainsFunc(c.Columns, func(column Column) bool {
		return slices.Contains([]family{strs, texts, blobs, bytesOf, shapes}, column.Kind.family) &&
			(!serverOf(c.Version).mariadb || c.wide(column)) &&
			slices.ContainsFunc(c.Clauses, func(clause string) bool {
				return (strings.HasPrefix(clause, "MODIFY") || strings.HasPrefix(clause, "CHANGE")) &&
					strings.Contains(strings.ReplaceAll(clause, `"`, "`"), quote(column.Name))
			})
	})
}

// same says that two tables differ in nothing but how constants are spelled.
func same(differences []string) bool {
	return len(differences) == 0 || len(differences) == 1 && strings.HasPrefix(differences[0], oracle.Respelled)
}

// untouched compares the table of a run that has failed with a twin that nobody has altered.
func (b *bench) untouched(ctx context.Context, c *Case, log []done, ours error) (Verdict, error) {
	if planned(ours) {
		return Verdict{}, nil
	}
	same := *c
	same.Clauses = nil
	app, err := b.fresh(ctx, &same, b.tables[1].Schema)
	if err != nil {
		return Verdict{}, err
	}
	defer app.close()
	for _, d := range log {
		_ = app.exec(ctx, d.sql) // twin compares the numbers
	}
	differences, err := oracle.Differences(ctx, b.admin, b.tables[0], b.tables[1])
	if dbconn.Number(err) == corrupted { // as the application left it, in an sql_mode of its own
		return Verdict{}, nil
	}
	if err != nil || len(differences) == 0 {
		return Verdict{}, err
	}
	return Verdict{Wrong, "touched", strings.Join(differences, "\n") + "\nerror: " + ours.Error()}, nil
}

// corrupted is the error of MariaDB's that an index has not the value which a virtual column has in
// this session's settings.
const corrupted = 1712

// unreadable says that the server cannot read the twin either, with the same error.
func (b *bench) unreadable(ctx context.Context, err error) bool {
	_, twin := oracle.Differences(ctx, b.admin, b.tables[1], b.tables[1])
	return twin != nil && dbconn.Number(err) != 0 && dbconn.Number(twin) == dbconn.Number(err)
}

// planned says that the plan has refused the run, before anything was written.
func planned(err error) bool {
	return errors.Is(err, plan.ErrRefused) || errors.Is(err, native.ErrRefused) || errors.Is(err, native.ErrNoCopy)
}

// onlyOurs judges a refusal or a failure where the server alters the table.
func (b *bench) onlyOurs(ctx context.Context, c *Case, log []done, ours error) (Verdict, error) {
	if rowsRefused(ours) || errors.Is(ours, shadow.ErrRefused) || errors.Is(ours, native.ErrRefused) {
		strict := inMode("CONCAT(@mode, ',STRICT_ALL_TABLES')")
		for n := len(log); n >= 0; n-- { // a row may have been there for a while
			failed, strictly := b.twin(ctx, c, log[:n], byCopy, strict...)
			if failed != nil {
				return Verdict{}, failed
			}
			if strictly == nil {
				continue
			}
			decided := Verdict{Decided, "the server changes values, or would ignore them, without an error", ours.Error()}
			if n == len(log) {
				return decided, nil
			}
			failed, theirs := b.twin(ctx, c, log[:n], byCopy)
			if failed == nil && theirs == nil {
				return decided, nil
			}
			return Verdict{Both, "for a while", ours.Error()}, failed
		}
	}
	if refused, err := b.unreadableCondition(ctx, c, log, ours); refused || err != nil {
		return Verdict{Both, "a strict session cannot compute the condition", ours.Error()}, err
	}
	if refused, err := b.unwritable(ctx, c, log, ours); refused || err != nil {
		return Verdict{OnlyUs, "rows that the server's own UPDATE refuses after its ALTER", ours.Error()}, err
	}
	if c.refusesNull(ours) {
		// The server's ALTER writes its own moment for a NULL in a TIMESTAMP that it makes NOT NULL, in a strict mode too:
		// it has not refused the NULL above.
		return Verdict{Decided, "the server puts the time of the ALTER in for NULL", ours.Error()}, nil
	}
	if rowsRefused(ours) && c.cutsTexts() {
		return Verdict{Decided, "the server drops what follows a number in a text", ours.Error()}, nil
	}
	if planned(ours) {
		return Verdict{OnlyUs, reason(ours), ours.Error()}, nil
	}
	if errors.Is(ours, rowsync.ErrMerges) || errors.Is(ours, failure.ErrUnfit) && strings.Contains(ours.Error(), "may become equal to another one") {
		return Verdict{OnlyUs, "key-values, by rows", ours.Error()}, nil
	}
	if dbconn.NoSuchDay(ours) {
		return Verdict{OnlyUs, "a day in the key that does not exist, by rows", ours.Error()}, nil
	}
	return Verdict{Wrong, "fails: " + reason(ours), ours.Error()}, nil
}

// refusesNull says that a run has ended because of a NULL in a column that becomes TIMESTAMP NOT NULL.
func (c *Case) refusesNull(err error) bool {
	return strings.Contains(c.create()+c.alter(), "TIMESTAMP") && (dbconn.Number(err) == 1048 ||
		errors.Is(err, failure.ErrUnfit) && strings.Contains(err.Error(), "with NULL in column ") ||
		strings.Contains(err.Error(), "'NULL in column ")) // MariaDB
}

// unwritable says that a run has refused rows of MariaDB's which the server's own UPDATE refuses after its ALTER. That ALTER reads a
// column of the TEXT kind that gets an empty text as 0, and no UPDATE does (1292).
func (b *bench) unwritable(ctx context.Context, c *Case, log []done, ours error) (bool, error) {
	if !serverOf(c.Version).mariadb || !rowsRefused(ours) {
		return false, nil
	}
	for n := len(log); n >= 0; n-- { // a row may have been there for a while
		failed, theirs := b.twin(ctx, c, log[:n], byCopy)
		if failed != nil {
			return false, failed
		}
		if theirs == nil && dbconn.ValueRefused(b.recompute(ctx)) {
			return true, nil
		}
	}
	return false, nil
}

// named is a name in a message.
var named = regexp.MustCompile(`(constraint|column|table|row|differ\d+)[ .=]\S+`)

// reason is a short word for why a run has ended.
func reason(err error) string {
	var refused *plan.Refused
	if errors.As(err, &refused) {
		var codes []string
		for _, r := range refused.Blocking {
			if !slices.Contains(codes, string(r.Code)) {
				codes = append(codes, string(r.Code))
			}
		}
		return strings.Join(codes, "+")
	}
	number := dbconn.Number(err)
	var failed *failure.Failure
	switch {
	case errors.Is(err, failure.ErrUnfit):
		return "unfit"
	case errors.Is(err, native.ErrRefused):
		return fmt.Sprintf("the server refuses it on an empty copy %d", number)
	case errors.Is(err, shadow.ErrRefused):
		return fmt.Sprintf("shadow %d", number)
	case errors.As(err, &failed):
		text := fmt.Sprintf("%s %d", failed.Phase, number)
		if number == 0 {
			text += fmt.Sprintf(" %.60s", named.ReplaceAllString(failed.Err.Error(), "$1 ..."))
		}
		return text
	}
	return fmt.Sprintf("%.60s", err.Error())
}
