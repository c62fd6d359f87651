package session

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"midstream/internal/engine/operator"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// Wishes are what a command line wishes of the table, or of each table of a group, by flags. The zero value has none.
type Wishes struct{ given []wish }

// wish is one flag with its value.
type wish struct{ flag, text string }

// wishFlags are the flags: the kind of the value, its help, and what reads it.
func wishFlags() []wishFlag {
	return []wishFlag{
		{"key", "string", "name of the key by which the run copies rows and follows changes (the best key)",
			func(o *plan.Options, text string) error { o.Key = text; return nil }},
		{"shadow-name", "string", "name of the shadow table, in the table's database (the table's name with _shadow)",
			func(o *plan.Options, text string) error { o.Names.Shadow = text; return nil }},
		{"old-name", "string", "name of the old table after the swap (the table's name with _old)",
			func(o *plan.Options, text string) error { o.Names.Old = text; return nil }},
		{"keep", "string", `only rows that meet this condition are in the new table, such as "created_at >= '2024-01-01'"; ` +
			"the others stay in the old table, which is kept",
			func(o *plan.Options, text string) (err error) {
				o.Filter, err = operator.ReadCondition(text)
				return err
			}},
		{"into", "database.table", "the swap puts the new table there, such as billing.orders, and the old name is free afterwards; without --alter, --table is renamed",
			func(o *plan.Options, text string) (err error) {
				o.Into.Name, err = schema.ParseName("", text)
				return err
			}},
		{"set", "column=expression", `each row has the value of this expression in this column, such as "email_norm=LOWER(email)"; may be repeated`,
			func(o *plan.Options, text string) error {
				column, expression, _ := strings.Cut(text, "=")
				if column == "" || expression == "" {
					return errors.New("must be column=expression")
				}
				return Put((*map[string]string)(&o.Set), column, expression)
			}},
		{"map", "old=new", "the new column takes its values from the old column, if Midstream cannot read the statement or --to is ambiguous; may be repeated",
			func(o *plan.Options, text string) error {
				old, fresh, _ := strings.Cut(text, "=")
				if fresh == "" {
					return errors.New("must be old=new, or =new if the column is new")
				}
				return Put(&o.Map, fresh, old)
			}},
	}
}

type wishFlag struct {
	name, kind, use string
	read            func(o *plan.Options, text string) error
}

// Put adds what a flag gives a name, which is once.
func Put(to *map[string]string, name, value string) error {
	if _, twice := (*to)[name]; twice {
		return errors.New(name + " is given twice")
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[name] = value
	return nil
}

// Register adds the flags.
func (w *Wishes) Register(add func(short, name, kind, dflt, use string, take func(text string) error)) {
	for _, f := range wishFlags() {
		add("", f.name, f.kind, "", f.use, func(text string) error {
			w.given = append(w.given, wish{f.name, text})
			return f.read(&plan.Options{}, text)
		})
	}
}

// Read reads the flags into the options of a plan. It returns what is wrong with them next to each other.
func (w Wishes) Read(options *plan.Options) (problems []error) {
	options.Set, options.Map = nil, nil // of a call before
	for _, g := range w.given {
		alone, err := g.read(&plan.Options{}), g.read(options)
		if alone == nil && err != nil { // else it is known since the flag was taken
			problems = append(problems, fmt.Errorf("--%s %s: %w", g.flag, g.text, err))
		}
	}
	return problems
}

// read reads the flag into the options of a plan.
func (g wish) read(options *plan.Options) error {
	flags := wishFlags()
	return flags[slices.IndexFunc(flags, func(f wishFlag) bool { return f.name == g.flag })].read(options, g.text)
}

// apart divides the wishes by their flag.
func (w Wishes) apart(flag string) (of, others Wishes) {
	for _, g := range w.given {
		if g.flag == flag {
			of.given = append(of.given, g)
		} else {
			others.given = append(others.given, g)
		}
	}
	return of, others
}

// ByTable gives each table of a group its wishes: each flag names its table, as in --keep "shop.orders: created_at >= '2024-01-01'".
func (w Wishes) ByTable(database string, tables []schema.Name) (each []Wishes, problems []error) {
	each = make([]Wishes, len(tables))
	for _, g := range w.given {
		table, text, err := tableOf(database, g.text)
		at := slices.Index(tables, table)
		switch {
		case err != nil:
			err = fmt.Errorf(`%w: with --together, begin with the table, as in --%s "shop.orders: ..."`, err, g.flag)
		case at < 0:
			err = fmt.Errorf("%s is not among the tables that are changed together: %s", table, schema.List(tables))
		case g.once() && slices.ContainsFunc(each[at].given, func(other wish) bool { return other.flag == g.flag }):
			err = fmt.Errorf("the flag is given twice for %s", table)
		default:
			each[at].given = append(each[at].given, wish{g.flag, text})
			err = each[at].last()
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("--%s %s: %w", g.flag, g.text, err))
		}
	}
	return each, append(problems, clashes(each, tables)...)
}

// OfOne returns which of the flags cannot be for each of several tables. The words of --map are found by their columns.
func (w Wishes) OfOne() (problems []error) {
	_, others := w.apart("map")
	for _, g := range others.given {
		problems = append(problems, fmt.Errorf(`--%s is for one table: add --table, or --together with --%[1]s "database.table: ..."`, g.flag))
	}
	return problems
}

// once reports whether a table can have only one of the flag.
func (g wish) once() bool { return g.flag != "set" && g.flag != "map" }

// last returns what is wrong with the last flag, next to those before it.
func (w Wishes) last() (err error) {
	options := &plan.Options{}
	for _, g := range w.given {
		err = g.read(options)
	}
	return err
}

// tableOf splits a value at the colon behind its table. The table may be in backticks.
func tableOf(database, text string) (table schema.Name, rest string, err error) {
	quoted := false
	end := strings.IndexFunc(text, func(r rune) bool {
		quoted = quoted != (r == '`')
		return r == ':' && !quoted
	})
	if end < 0 {
		return table, "", errors.New("it does not name its table")
	}
	if table, err = schema.ParseName(database, strings.TrimSpace(text[:end])); err != nil {
		return table, "", fmt.Errorf("it does not name its table (%w)", err)
	}
	return table, strings.TrimSpace(text[end+1:]), nil
}

// clashes returns which names of tables are wished for one table of a group and needed for another one.
func clashes(each []Wishes, tables []schema.Name) (problems []error) {
	wished := make([][]schema.Name, len(tables))
	for i, w := range each {
		var options plan.Options
		w.Read(&options)
		for _, name := range []string{options.Names.Shadow, options.Names.Old} {
			if name != "" {
				wished[i] = append(wished[i], tables[i].Sibling(name))
			}
		}
	}
	for i, names := range wished {
		for j, other := range tables {
			needed := slices.Concat(wished[j], plan.OldNames(other), plan.NamesOf(other).All(), []schema.Name{other})
			for _, name := range names {
				same := func(n schema.Name) bool { return strings.EqualFold(n.Dotted(), name.Dotted()) }
				if i != j && slices.ContainsFunc(needed, same) {
					problems = append(problems, fmt.Errorf("the name %s, for a table of the run on %s, is needed by the run on %s", name, tables[i], other))
				}
			}
		}
	}
	return problems
}

var (
	mapHint  = regexp.MustCompile(`--map ([^ ,;]*=)`)
	textHint = regexp.MustCompile(`--(keep|set) "`)
)

// ofMember puts the table into flags that the refusal of a member of a group advises: there, their values begin with it.
func ofMember(refused *plan.Refused, table schema.Name) *plan.Refused {
	made := *refused
	made.Blocking = slices.Clone(refused.Blocking)
	for i, risk := range made.Blocking {
		name := strings.ReplaceAll(table.Dotted(), "$", "$$")
		risk.Fix = mapHint.ReplaceAllString(risk.Fix, "--map "+name+":$1")
		made.Blocking[i].Fix = textHint.ReplaceAllString(risk.Fix, `--$1 "`+name+": ")
	}
	return &made
}
