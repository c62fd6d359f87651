package plan

import (
	"fmt"
	"regexp"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Names of CHECK constraints are unique in a schema, so a copy of a table has other names. The
// server makes them from the copy's name and a number, and from the new name when the copy is
// renamed (mysql-facts, section 8). So names that an operator chose are lost. MariaDB's names are
// unique only in a table, and stay.

// CodeCheckName is the code of risks about names of CHECK constraints.
const CodeCheckName Code = "check-name"

// ClausesFor returns the ALTER's clauses for the shadow as CREATE TABLE LIKE has made it: a clause
// that names a CHECK constraint of the source names its copy instead.
func (p *Plan) ClausesFor(copied *schema.Table) string {
	return clausesFor(p.Alter, p.Source, copied, func(i int) string {
		if i >= len(p.Added) || p.Added[i].Index == "" {
			return ""
		}
		return "ADD " + p.Added[i].Index
	})
}

// ClausesFor returns an ALTER's clauses for a copy of the table, as Plan.ClausesFor does, without the foreign keys that it adds and
// their indexes.
func ClausesFor(alter *ddl.Alter, source, copied *schema.Table) string {
	return clausesFor(alter, source, copied, func(int) string { return "" })
}

// clausesFor has the index of each foreign key that the ALTER adds, if there is one, in the place of that foreign key.
func clausesFor(alter *ddl.Alter, source, copied *schema.Table, index func(i int) string) string {
	if with := alter.WithForeign(index); alter.AddsForeignKey && with != nil { // else checkAdded refuses
		if len(dropped(source, with)) > 0 && withoutForeign(source, with) == nil {
			return ""
		}
		alter = with
	}
	if len(dropped(source, alter)) > 0 {
		if rest := withoutForeign(source, alter); rest != nil { // else checkForeign refuses
			alter = rest
		}
	}
	names := copiedChecks(source, copied)
	return alter.ClausesWith(func(ref ddl.CheckRef) string { // also one that it drops and adds again
		if name, known := names[fold(ref.Name)]; known {
			return name
		}
		return ref.Name
	})
}

// copiedChecks pairs the checks of a table with the checks of its copy, by name in lower case. The
// server numbers the copies in the order in which it shows the originals. It shows them in the
// order of their names, where _10 comes before _2.
func copiedChecks(source, copied *schema.Table) map[string]string {
	names := map[string]string{}
	for i, check := range source.Checks {
		want := fmt.Sprintf("%s_chk_%d", copied.Name.Table, i+1)
		for _, other := range copied.Checks {
			if strings.EqualFold(other.Name, want) && sameClause(other.Clause, check.Clause) || other.Name == check.Name {
				names[fold(check.Name)] = other.Name
			}
		}
	}
	return names
}

var (
	introducer = regexp.MustCompile(`_[a-z0-9]+\\?'`)
	unspelled  = strings.NewReplacer("`", "", "(", "", ")", "", " ", "", `\0`, "", `\`, "")
)

// sameClause reports whether two checks mean the same. The server writes a clause differently when
// it stores it again: names in backticks or not (sql_quote_show_create), the charsets of texts, the
// sign of numbers.
func sameClause(a, b string) bool {
	plain := func(clause string) string {
		return strings.ToLower(unspelled.Replace(introducer.ReplaceAllString(clause, "'")))
	}
	return plain(a) == plain(b)
}

// checkConstraints warns of names that get lost, and refuses if the server could not make the new
// names.
func (c *checker) checkConstraints() {
	t := c.table
	if len(t.Checks) == 0 || c.facts.Version.MariaDB {
		return
	}
	longest := fmt.Sprintf("%s_chk_%d", t.Name.Table, len(t.Checks)+len(c.alter.Checks))
	if len([]rune(longest)) > maxServerName {
		c.block(CodeCheckName, "the table has CHECK constraints and a long name",
			"the server would name them "+longest+" after the swap, which is too long", natively)
	}
	var chosen []string
	for _, check := range t.Checks {
		if !strings.HasPrefix(check.Name, t.Name.Table+"_chk_") {
			chosen = append(chosen, check.Name)
		}
	}
	if len(chosen) > 0 {
		c.warn(CodeCheckName, "CHECK constraints "+list(chosen)+" get names of the kind "+t.Name.Table+"_chk_1",
			"names of constraints are unique in a schema, so the shadow cannot use the same names", "")
	}
}
