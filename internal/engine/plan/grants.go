package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// Grants are the privileges of an account, as SHOW GRANTS tells them.
type Grants struct {
	Entries []Grant
	// Roles are the active ones, as CURRENT_ROLE() lists them; "" for none.
	Roles string
	// LiteralNames says that % and _ in a schema's name are no wildcards
	// (partial_revokes is ON).
	LiteralNames bool
	// AllMatches says that every grant counts whose pattern matches a schema, and not
	// the most specific one alone.
	AllMatches bool
	// Unchecked says that the server runs without grant tables: all is allowed.
	Unchecked bool
	// Unread are lines that were not understood.
	Unread []string
}

// Grant is one line of SHOW GRANTS.
type Grant struct {
	Privileges []string // upper case; those on single columns are left out
	Schema     string   // a pattern; "" for all schemas
	Table      string   // "" for all tables of the schema
	Revoked    bool     // a partial revoke: taken from what is granted globally
}

// aliases are other names of privileges.
var aliases = map[string]string{
	"ALL":              "ALL PRIVILEGES",
	"BINLOG MONITOR":   "REPLICATION CLIENT", // MariaDB
	"CONNECTION ADMIN": "CONNECTION_ADMIN",   // likewise
	"REPLICA MONITOR":  "REPLICATION CLIENT",
}

// Read takes the lines of SHOW GRANTS. Grants of roles, of PROXY and on routines say
// nothing of tables and are passed over.
func (g *Grants) Read(lines []string) {
	for _, line := range lines {
		entry, relevant, ok := parseGrant(line)
		switch {
		case !ok:
			g.Unread = append(g.Unread, line)
		case relevant:
			g.Entries = append(g.Entries, entry)
		}
	}
}

// parseGrant reads GRANT privileges ON object TO ... or REVOKE ... FROM ...
func parseGrant(line string) (g Grant, relevant, ok bool) {
	tokens, closed := token.Split(line)
	if !closed || len(tokens) == 0 || tokens[len(tokens)-1].Unclosed {
		return g, false, false
	}
	end := "TO"
	switch {
	case tokens[0].Is("GRANT"):
	case tokens[0].Is("REVOKE"):
		g.Revoked, end = true, "FROM"
	case tokens[0].Is("SET"): // MariaDB: SET DEFAULT ROLE
		return g, false, true
	default:
		return g, false, false
	}
	on := slices.IndexFunc(tokens, func(t token.Token) bool { return t.Depth == 0 && t.Is("ON") })
	to := slices.IndexFunc(tokens, func(t token.Token) bool { return t.Depth == 0 && t.Is(end) })
	if to < 0 {
		return g, false, false
	}
	if on < 0 || on > to {
		return g, false, true // a role
	}
	g.Privileges = privileges(tokens[1:on])
	if len(g.Privileges) == 1 && g.Privileges[0] == "PROXY" {
		return g, false, true
	}
	object := tokens[on+1 : to]
	if len(object) > 0 && (object[0].Is("PROCEDURE") || object[0].Is("FUNCTION") || object[0].Is("PACKAGE")) &&
		!(len(object) == 3 && object[1].Is(".")) {
		return g, false, true
	}
	if len(object) > 0 && object[0].Is("TABLE") && len(object) == 4 {
		object = object[1:]
	}
	if len(object) != 3 || !object[1].Is(".") {
		return g, false, false
	}
	g.Schema, g.Table = scope(object[0]), scope(object[2])
	return g, true, true
}

// scope returns a name, or "" for *.
func scope(t token.Token) string {
	if t.Is("*") {
		return ""
	}
	return t.Text
}

// privileges reads the list between GRANT and ON. A privilege on columns is left out:
// we read and write whole rows.
func privileges(tokens []token.Token) []string {
	var list []string
	var words []string
	columns := false
	flush := func() {
		if len(words) > 0 && !columns {
			name := strings.ToUpper(strings.Join(words, " "))
			if other, ok := aliases[name]; ok {
				name = other
			}
			list = append(list, name)
		}
		words, columns = nil, false
	}
	for _, t := range tokens {
		switch {
		case t.Depth > 0:
		case t.Is(","):
			flush()
		case t.Is("("):
			columns = true
		case t.Name():
			words = append(words, t.Text)
		}
	}
	flush()
	return list
}

func (g Grant) has(privilege string) bool {
	return slices.Contains(g.Privileges, privilege) || slices.Contains(g.Privileges, "ALL PRIVILEGES")
}

// Global says whether the account has a privilege on *.*.
func (g *Grants) Global(privilege string) bool {
	for _, e := range g.Entries {
		if e.Schema == "" && e.Table == "" && !e.Revoked && e.has(privilege) {
			return true
		}
	}
	return g.Unchecked
}

// On says whether the account has a privilege on a table; with table "" on all
// tables of the schema.
func (g *Grants) On(privilege, schema, table string) bool {
	if g.Unchecked || g.Global(privilege) && !g.revoked(privilege, schema) {
		return true
	}
	if g.onSchema(privilege, schema) {
		return true
	}
	for _, e := range g.Entries {
		if table != "" && !e.Revoked && e.Schema == schema && e.Table == table && e.has(privilege) {
			return true
		}
	}
	return false
}

// revoked says that a partial revoke takes a global privilege away for the schema.
func (g *Grants) revoked(privilege, schema string) bool {
	for _, e := range g.Entries {
		if e.Revoked && e.Schema == schema && e.has(privilege) {
			return true
		}
	}
	return false
}

// onSchema looks at the grants on schemas. MySQL takes only the most specific of those
// that match; with active roles, and on MariaDB, which one is taken depends on the
// version (8.0.12 takes all, 9.7.4 the first as a string). There, and where two are
// as specific, all are taken to count: a privilege that is missing after all is then
// the server's to say, at the first statement that needs it.
// TestGrantsAsTheServerSeesThem asks the servers.
func (g *Grants) onSchema(privilege, schema string) bool {
	best, found := -1, false
	for _, e := range g.Entries {
		if e.Revoked || e.Schema == "" || e.Table != "" || !g.matches(e.Schema, schema) {
			continue
		}
		rank := specificity(e.Schema)
		switch {
		case g.AllMatches, rank == best:
			found = found || e.has(privilege)
		case rank > best:
			best, found = rank, e.has(privilege)
		}
	}
	return found
}

func (g *Grants) matches(pattern, schema string) bool {
	if g.LiteralNames {
		// An escaped name is still one that was granted before the setting was changed.
		return pattern == schema || strings.NewReplacer(`\_`, "_", `\%`, "%").Replace(pattern) == schema
	}
	return like(pattern, schema)
}

// specificity orders patterns as the server sorts them: those without wildcards
// first, then by the place of the first wildcard.
func specificity(pattern string) int {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '%', '_':
			return min(i+1, 127)
		}
	}
	return 128
}

// like matches a name with a pattern of %, _ and backslash. It goes back to the last
// % only, so that no pattern takes long.
func like(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	pi, ni, star, from := 0, 0, -1, 0
	for ni < len(n) {
		width := matchOne(p[pi:], n[ni])
		switch {
		case pi < len(p) && p[pi] == '%':
			star, from = pi, ni
			pi++
		case width > 0:
			pi += width
			ni++
		case star >= 0:
			from++
			pi, ni = star+1, from
		default:
			return false
		}
	}
	for pi < len(p) && p[pi] == '%' {
		pi++
	}
	return pi == len(p)
}

// matchOne returns how many characters of the pattern match c; 0 if they don't.
func matchOne(p []rune, c rune) int {
	switch {
	case len(p) == 0:
		return 0
	case p[0] == '\\' && len(p) > 1:
		if p[1] == c {
			return 2
		}
		return 0
	case p[0] == '_' || p[0] == c && c != '%':
		return 1
	}
	return 0
}
