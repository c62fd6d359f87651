package desired

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Statement is one CREATE TABLE of a file.
type Statement struct {
	File string
	Line int // of its first word
	Name schema.Name
	Text string // from its first word to its last, without a ";"

	tokens      []token.Token // of Text
	open, close int           // the tokens around the body
}

// Place returns where the statement is, as file:line.
func (s *Statement) Place() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// Read reads the statements of a file, or of the files in a folder whose names end in .sql, in the
// order of those names. database is the database of tables whose statements don't name one. The
// error lists all problems, each with its place. The texts are in the dialect d; the returned
// statements are in the usual dialect.
func Read(d token.Dialect, path, database string) ([]Statement, error) {
	all, _, err := ReadDump(d, path, database)
	return all, err
}

// ReadDump is Read, with the statements that it has left out because they define no table, each with its place: views, routines, triggers
// and events.
func ReadDump(d token.Dialect, path, database string) (all []Statement, leftOut []string, err error) {
	files, err := FilesOf(path)
	if err != nil {
		return nil, nil, err
	}
	var problems []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		resolved, closed := d.Resolve(strings.TrimPrefix(string(text), "\ufeff"))
		statements, without, err := parse(file, resolved, database)
		if !closed && err == nil {
			err = fmt.Errorf("%s: a quote or a comment is not closed", file)
		}
		all, leftOut, problems = append(all, statements...), append(leftOut, without...), append(problems, err)
	}
	first := map[schema.Name]string{}
	for _, s := range all {
		if place, twice := first[s.Name]; twice {
			problems = append(problems, fmt.Errorf("%s: table %s is defined at %s already", s.Place(), s.Name, place))
		} else {
			first[s.Name] = s.Place()
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		if more := len(files) - 1; more > 0 {
			return nil, nil, fmt.Errorf("%s and %d more: no file has a CREATE TABLE", files[0], more)
		}
		return nil, nil, fmt.Errorf("%s: the file has no CREATE TABLE", files[0])
	}
	return all, leftOut, nil
}

// FilesOf returns a file, or the files in a folder whose names end in .sql, in the order of their names.
func FilesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != path {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && strings.EqualFold(filepath.Ext(name), ".sql") {
			files = append(files, name)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: the folder has no file whose name ends in .sql", path)
	}
	sort.Strings(files)
	return files, err
}

// parse reads the statements of one file.
func parse(file, text, database string) (all []Statement, leftOut []string, err error) {
	tokens, closed := token.Split(text)
	if !closed {
		return nil, nil, fmt.Errorf("%s: a comment is not closed", file)
	}
	var problems []error
	start := 0
	for i := 0; i <= len(tokens); i++ {
		if i < len(tokens) && !tokens[i].Is(";") {
			continue
		}
		if i > start {
			from, to := tokens[start].CommentStart, tokens[i-1].CommentEnd
			s := Statement{File: file, Line: 1 + strings.Count(text[:tokens[start].Start], "\n"), Text: text[from:to]}
			err := s.read(database)
			if i < len(tokens) && tokens[i].Executable != 0 {
				err = errors.New("a statement ends inside of an executable comment")
			}
			var without *leftOutError
			switch length, ok := block(text[from:]); {
			case ok && tokens[start].Is("DELIMITER"):
				leftOut = append(leftOut, s.Place()+": "+shorten(text[from:from+length]))
				for i+1 < len(tokens) && tokens[i+1].Start < from+length {
					i++
				}
			case errors.As(err, &without) && !(s.drops() && slices.ContainsFunc(all, s.names)):
				if without.told {
					leftOut = append(leftOut, s.Place()+": "+shorten(s.Text))
				}
			case err != nil:
				problems = append(problems, fmt.Errorf("%s: %w", s.Place(), err))
			default:
				all = append(all, s)
			}
		}
		start = i + 1
	}
	return all, leftOut, errors.Join(problems...)
}

// read parses the statement.
func (s *Statement) read(database string) error {
	s.tokens, _ = token.Split(s.Text)
	t := s.tokens
	at := func(i int, word string) bool { return i < len(t) && t[i].Is(word) }
	for _, k := range t {
		if k.Unclosed {
			return fmt.Errorf("a quote is not closed: %s", shorten(s.Text[k.Start:]))
		}
	}
	if at(0, "CREATE") && at(1, "TEMPORARY") {
		return errors.New("a temporary table is not part of a schema")
	}
	if is, told := leavesOut(t); is {
		return &leftOutError{fmt.Errorf("only CREATE TABLE is read, and this is %s", shorten(s.Text)), told}
	}
	if !at(0, "CREATE") || !at(1, "TABLE") {
		return fmt.Errorf("only CREATE TABLE is read, and this is %s", shorten(s.Text))
	}
	i := 2
	if at(i, "IF") && at(i+1, "NOT") && at(i+2, "EXISTS") {
		i += 3
	}
	if i >= len(t) || !t[i].Name() {
		return errors.New("no table's name follows CREATE TABLE (write it bare or in backticks)")
	}
	s.Name.Table = t[i].Text
	if at(i+1, ".") && i+2 < len(t) && t[i+2].Name() {
		s.Name = schema.Name{Schema: t[i].Text, Table: t[i+2].Text}
		i += 2
	}
	switch {
	case s.Name.Schema == "" && database == "":
		return fmt.Errorf("the database of %s is missing: write database.%[1]s, or use --database", s.Name.Table)
	case s.Name.Schema == "":
		s.Name.Schema = database
	case database != "" && database != s.Name.Schema:
		return fmt.Errorf("the statement names database %s, --database names %s", s.Name.Schema, database)
	}
	return s.readBody(i)
}

// readBody finds the body, which follows the name, and refuses tables that are not defined by
// columns.
func (s *Statement) readBody(name int) error {
	t := s.tokens
	s.open = name + 1
	for s.close = s.open + 1; s.close < len(t) && !(t[s.close].Is(")") && t[s.close].Depth == 0); s.close++ {
	}
	if s.open >= len(t) || !t[s.open].Is("(") || s.close >= len(t) || s.close == s.open+1 || t[s.open+1].Is("LIKE") {
		return fmt.Errorf("%s is not defined by its columns in parentheses", s.Name)
	}
	if t[s.open].CommentStart < t[name].End {
		return errors.New("an executable comment begins before the columns and holds some of them")
	}
	for i := s.open; i < len(t); i++ {
		switch behind := i > s.close && t[i].Depth == 0; {
		case t[i].Is("SELECT"), behind && slices.ContainsFunc(bringRows, t[i].Is):
			return fmt.Errorf("%s: a definition brings no rows", strings.ToUpper(t[i].Text))
		case behind && t[i].Is("START"):
			return errors.New("START TRANSACTION is for replication alone")
		}
	}
	return nil
}

// bringRows are words after the columns that define the first rows of a table.
var bringRows = []string{"AS", "IGNORE", "REPLACE", "TABLE", "VALUES", "WITH"}

// shorten shortens a text for a message.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return text
}
