package cli

import (
	"errors"
	"fmt"
	"strings"

	"midstream/internal/ddl"
	"midstream/internal/schema"
)

// target says which table is to be changed, and how.
type target struct {
	verb     string // for which it is read
	database string
	table    string
	alter    string
}

func (t *target) register(f *checks) {
	f.flags.StringVarP(&t.database, "database", "D", "", "the table's database, where the statement does not say it")
	f.flags.StringVar(&t.table, "table", "", "the table, with --alter")
	f.flags.StringVar(&t.alter, "alter", "", "what follows ALTER TABLE name, in place of the statement")
}

// parse reads the statement, given whole or in flags.
func (t *target) parse(args []string) (*ddl.Alter, error) {
	switch {
	case len(args) == 0 && t.alter == "" && t.table == "":
		return nil, fmt.Errorf(`say what to change: midstream %s "ALTER TABLE shop.orders ADD COLUMN ..."`, t.verb)
	case len(args) == 0:
		return t.parseFlags()
	case len(args) > 1:
		return nil, fmt.Errorf("one statement is expected, and there are %d arguments: put it in quotes", len(args))
	case t.alter != "" || t.table != "":
		return nil, errors.New("give the statement, or --table and --alter, not both")
	}
	alter, err := ddl.Parse(args[0])
	if err != nil {
		return nil, err
	}
	switch {
	case alter.Table.Schema == "" && t.database == "":
		return nil, fmt.Errorf("in which database is %s? Write database.%[1]s, or say --database", alter.Table.Table)
	case alter.Table.Schema == "":
		alter.Table.Schema = t.database
	case t.database != "" && t.database != alter.Table.Schema:
		return nil, fmt.Errorf("the statement says database %s, --database says %s", alter.Table.Schema, t.database)
	}
	return alter, nil
}

func (t *target) parseFlags() (*ddl.Alter, error) {
	var problems []error
	if t.alter == "" {
		problems = append(problems, errors.New("--table needs --alter"))
	}
	if t.table == "" {
		problems = append(problems, errors.New("--alter needs --table"))
	}
	problems = append(problems, onlyClauses(t.alter))
	name, err := tableName(t.database, t.table)
	if t.table != "" {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return ddl.ParseClauses(name, t.alter)
}

// onlyClauses says that --alter has a whole statement.
func onlyClauses(alter string) error {
	words := strings.Fields(alter)
	if len(words) > 1 && strings.EqualFold(words[0], "ALTER") && strings.EqualFold(words[1], "TABLE") {
		return errors.New("--alter is what follows ALTER TABLE name: leave these words out")
	}
	return nil
}

// tableName reads database.table; backticks are allowed. database may say the first
// part.
func tableName(database, text string) (schema.Name, error) {
	parts, err := identifiers(text)
	switch {
	case err != nil:
		return schema.Name{}, err
	case len(parts) == 2 && (database == "" || database == parts[0]):
		return schema.Name{Schema: parts[0], Table: parts[1]}, nil
	case len(parts) == 2:
		return schema.Name{}, fmt.Errorf("%s says database %s, --database says %s", text, parts[0], database)
	case len(parts) == 1 && database != "":
		return schema.Name{Schema: database, Table: parts[0]}, nil
	case len(parts) == 1:
		return schema.Name{}, fmt.Errorf("in which database is %s? Write database.%[1]s, or say --database", text)
	}
	return schema.Name{}, fmt.Errorf("%q is no table's name: it is database.table", text)
}

// identifiers splits at dots outside of backticks.
func identifiers(text string) ([]string, error) {
	var parts []string
	for {
		var part string
		if strings.HasPrefix(text, "`") {
			end := 1
			for end < len(text) && (text[end] != '`' || strings.HasPrefix(text[end:], "``")) {
				if text[end] == '`' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, fmt.Errorf("a backtick is not closed: %s", text)
			}
			part, text = strings.ReplaceAll(text[1:end], "``", "`"), text[end+1:]
		} else {
			end := len(text)
			if dot := strings.IndexByte(text, '.'); dot >= 0 {
				end = dot
			}
			part, text = text[:end], text[end:]
		}
		if part == "" {
			return nil, errors.New("a table's name is database.table")
		}
		parts = append(parts, part)
		if text == "" {
			return parts, nil
		}
		if text[0] != '.' {
			return nil, fmt.Errorf("a dot is expected before %s", text)
		}
		text = text[1:]
	}
}
