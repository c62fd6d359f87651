package plan

import (
	"slices"
	"strings"

	"midstream/internal/mysql/schema/token"
)

// Grants are the privileges of an account, as SHOW GRANTS lists them.
type Grants struct {
	Entries []Grant
	// Roles are the active ones, as CURRENT_ROLE() lists them; "" for none.
	Roles string
	// LiteralNames means that % and _ in a schema's name are no wildcards (partial_revokes is ON).
	LiteralNames bool
	// AllMatches means that every grant whose pattern matches a schema counts, not only the most
	// specific grant.
	AllMatches bool
	// Unchecked means that the server runs without grant tables: everything is allowed.
	Unchecked bool
	// Unread are lines that could not be parsed.
	Unread []string
}

// Grant is one line of SHOW GRANTS.
type Grant struct {
	// Privileges are in upper case, without privileges on single columns.
	Privileges []string
	Schema     string // a pattern; "" for all schemas
	Table      string // "" for all tables of the schema
	// Revoked means a partial revoke, which takes from the global grants.
	Revoked bool
}

// aliases are other names of privileges.
var aliases = map[string]string{
	"ALL":              "ALL PRIVILEGES",
	"BINLOG MONITOR":   "REPLICATION CLIENT", // MariaDB
	"CONNECTION ADMIN": "CONNECTION_ADMIN",   // MariaDB
	"REPLICA MONITOR":  "REPLICATION CLIENT",
}

// Read parses the lines of SHOW GRANTS. It skips grants of roles, of PROXY and on routines, which
// don't concern tables.
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

// privileges reads the list between GRANT and ON. It leaves out privileges on single columns,
// because a run reads and writes complete rows.
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

// Global reports whether the account has a privilege on *.*.
func (g *Grants) Global(privilege string) bool {
	for _, e := range g.Entries {
		if e.Schema == "" && e.Table == "" && !e.Revoked && e.has(privilege) {
			return true
		}
	}
	return g.Unchecked
}

// On reports whether the account has a privilege on a table; with table "", on all tables of the
// schema.
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

// revoked reports whether a partial revoke takes a global privilege away for the schema.
func (g *Grants) revoked(privilege, schema string) bool {
	for _, e := range g.Entries {
		if e.Revoked && e.Schema == schema && e.has(privilege) {
			return true
		}
	}
	return false
}

// onSchema checks the grants on schemas. MySQL uses only the most specific grant that matches. With
// active roles, and on MariaDB, the grant that is used depends on the version (8.0.12 uses all,
// 9.7.4 the first as a string). There, and if two grants are equally specific, onSchema counts all
// of them. If a privilege is missing after all, the server refuses the first statement that needs
// it. TestGrantsAsTheServerSeesThem asks the servers.
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
		// A name with escapes may have been granted before the setting was changed.
		return pattern == schema || strings.NewReplacer(`\_`, "_", `\%`, "%").Replace(pattern) == schema
	}
	return like(pattern, schema)
}

// specificity orders patterns as the server sorts them: first patterns without wildcards, then by
// the place of the first wildcard.
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

// like matches a name with a pattern of %, _ and backslash. It goes back only to the last %, so no
// pattern takes long.
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
