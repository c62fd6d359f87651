package native

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// judged is the column of the judge's table that the server computes, and judging is that table.
const (
	judged  = "midstream_judged"
	judging = "midstream_judging"
)

// Judge lets the server judge an expression over the columns of a table: each time that a run computes it for the same row, it must
// have the same value. So the server is to store it as a generated column of a temporary table. It refuses what depends on the
// time, the session, chance, other rows or stored functions. No list of ours says what that is, except for what servers
// forgot. The expression is in the usual dialect, and its value has a type, such as INT. zeroDates lets a date be zero. Judge fails
// with ErrRefused and the reason.
// It writes nothing else.
//
// Source: the manuals of MySQL ("CREATE TABLE and Generated Columns") and MariaDB ("Generated Columns").
func Judge(ctx context.Context, pool *dbconn.Pool, table *schema.Table, as, expression string, zeroDates bool) error {
	if why := passing(expression); why != "" {
		return fmt.Errorf("%w: %s", ErrRefused, why)
	}
	expression = plain(expression)
	var meant [2]string
	for i, setup := range [2][]string{pool.AsTheServer(zeroDates), nil} {
		session, err := silent(ctx, pool, setup...)
		if err != nil {
			return err
		}
		meant[i], err = judge(ctx, session, table, as, expression)
		session.Close() // it drops the table
		if err != nil {
			return err
		}
	}
	if meant[0] != meant[1] {
		return fmt.Errorf("%w: it means something else under the server's sql_mode than under others (write CONCAT() instead of ||, and "+
			"parentheses around NOT)", ErrRefused)
	}
	return nil
}

// plain is an expression with ASCII in place of all other characters of its texts: MySQL does not store every text in an expression of a
// table (error 3854: one of four bytes, or one that is compared with a latin1 column). The judgement does not depend on them.
func plain(expression string) string {
	tokens, _ := token.Split(expression)
	var out strings.Builder
	at := 0
	for _, t := range tokens {
		if t.Kind != token.String {
			continue
		}
		out.WriteString(expression[at:t.Start])
		out.WriteString(strings.Map(func(r rune) rune {
			if r > '~' {
				return 'x'
			}
			return r
		}, expression[t.Start:t.End]))
		at = t.End
	}
	return out.String() + expression[at:]
}

// passing is what is wrong with an expression that some servers take; "" if no such thing is known.
func passing(expression string) string {
	tokens, _ := token.Split(expression)
	for i, t := range tokens {
		follows := func(text string) bool { return i+1 < len(tokens) && tokens[i+1].Is(text) }
		switch {
		case t.Is("RANDOM_BYTES"): // 5.7.22 and 8.0.12 take it
			return "RANDOM_BYTES() gives another value each time"
		case t.Is("@"): // 8.0.12 takes system variables
			return "it has a variable"
		case t.Is("DEFAULT") && follows("("): // of a column of the judge's table
			return "DEFAULT() is no value of the row"
		case t.Name() && follows(".") && !(t.Kind == token.Word && t.Text[0] <= '9'): // each server takes them with the name of any table
			return "write columns without the name of the table"
		}
	}
	return ""
}

// judge returns what the server makes of the expression.
func judge(ctx context.Context, session *dbconn.Session, table *schema.Table, as, expression string) (meant string, err error) {
	named := plan.NamedIn(expression, table)
	definitions := []string{"midstream_key INT PRIMARY KEY"} // some settings refuse a table without one, or add one
	for _, c := range named {
		definition := strings.TrimSuffix(c.Bare(), " NOT NULL") + " NULL"
		if c.DataType == "char" { // MariaDB refuses some functions of it, because of an sql_mode that plan.Values has set
			definition = "var" + definition
		}
		definitions = append(definitions, schema.Quote(c.Name)+" "+definition)
	}
	definitions = append(definitions, judged+" "+as+" AS (("+expression+")) STORED")
	name := schema.Quote(table.Name.Schema) + "." + judging
	_, err = session.Exec(ctx, "CREATE TEMPORARY TABLE "+name+" ("+strings.Join(definitions, ", ")+") ENGINE=InnoDB ROW_FORMAT=DYNAMIC")
	if err != nil && unanswered(err) {
		return "", fmt.Errorf("ask the server to judge an expression: %w", err)
	}
	if dbconn.Number(err) == noDatabase { // 9.7 looks for one of the session's database
		return "", fmt.Errorf("%w: it calls a function that the server does not have", ErrRefused)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrRefused, dbconn.Message(err))
	}
	if _, err = session.Exec(ctx, "SET SESSION sql_mode = ''"); err != nil { // MariaDB and 5.7 print names by it
		return "", err
	}
	columns := 0
	if err = session.Rows(ctx, "SHOW COLUMNS FROM "+name, func(rows *sql.Rows) error { columns++; return nil }); err == nil {
		err = session.Rows(ctx, "SHOW CREATE TABLE "+name, func(rows *sql.Rows) error { return rows.Scan(new(string), &meant) })
	}
	if err == nil && columns != len(definitions) {
		err = fmt.Errorf("%w: it is not one expression", ErrRefused)
	}
	_, meant, _ = strings.Cut(meant, judged) // before, the session decides what a TIMESTAMP has
	_, meant, _ = strings.Cut(meant, " AS (")
	return meant[:max(0, strings.LastIndex(meant, " STORED"))], err
}
