package plan

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadGrants(t *testing.T) {
	for line, want := range map[string]*Grant{
		"GRANT USAGE ON *.* TO `u`@`%`":                                               {Privileges: []string{"USAGE"}},
		"GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION":         {Privileges: []string{"ALL PRIVILEGES"}},
		"GRANT SELECT, LOCK TABLES, REPLICATION SLAVE ON *.* TO `u`@`%`":              {Privileges: []string{"SELECT", "LOCK TABLES", "REPLICATION SLAVE"}},
		"GRANT BACKUP_ADMIN,XA_RECOVER_ADMIN ON *.* TO `u`@`%` WITH GRANT OPTION":     {Privileges: []string{"BACKUP_ADMIN", "XA_RECOVER_ADMIN"}},
		"GRANT SELECT ON `my\\_db`.* TO `u`@`%`":                                      {Privileges: []string{"SELECT"}, Schema: `my\_db`},
		"GRANT SELECT ON `my``db`.* TO ''@'%'":                                        {Privileges: []string{"SELECT"}, Schema: "my`db"},
		"GRANT SELECT ON `a.b`.`c TO d` TO `u`@`%`":                                   {Privileges: []string{"SELECT"}, Schema: "a.b", Table: "c TO d"},
		"GRANT SELECT, INSERT (`a`, `b,c`), UPDATE (x), DELETE ON `s`.`t` TO `u`@`%`": {Privileges: []string{"SELECT", "DELETE"}, Schema: "s", Table: "t"},
		"REVOKE INSERT, UPDATE ON `mysql`.* FROM `u`@`%`":                             {Privileges: []string{"INSERT", "UPDATE"}, Schema: "mysql", Revoked: true},
		"GRANT BINLOG MONITOR ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*ON TO'":      {Privileges: []string{"REPLICATION CLIENT"}},
		"GRANT SELECT ON \"s\\_1\".* TO \"u\"@\"%\"":                                  {Privileges: []string{"SELECT"}, Schema: `s\_1`},
		"GRANT ALL ON TABLE `s`.`t` TO u":                                             {Privileges: []string{"ALL PRIVILEGES"}, Schema: "s", Table: "t"},
		"GRANT SELECT ON `ON`.`TO` TO `FROM`@`%`":                                     {Privileges: []string{"SELECT"}, Schema: "ON", Table: "TO"},
		"GRANT SELECT ON `procedure`.* TO u":                                          {Privileges: []string{"SELECT"}, Schema: "procedure"},
		// These don't concern tables.
		"GRANT EXECUTE ON PROCEDURE `s`.`p` TO `u`@`%`":                nil,
		"GRANT EXECUTE ON FUNCTION `s`.`f` TO `u`@`%`":                 nil,
		"GRANT PROXY ON ''@'' TO 'root'@'localhost' WITH GRANT OPTION": nil,
		"GRANT PROXY ON `a`@`b` TO `u`@`%`":                            nil,
		"GRANT `r1`@`%`,`r ON 2`@`%` TO `u`@`%` WITH ADMIN OPTION":     nil,
		"SET DEFAULT ROLE r FOR 'u'@'%'":                               nil,
	} {
		var g Grants
		g.Read([]string{line})
		if len(g.Unread) > 0 {
			t.Errorf("%s: not understood", line)
			continue
		}
		switch {
		case want == nil && len(g.Entries) > 0:
			t.Errorf("%s: %+v, want nothing", line, g.Entries)
		case want != nil && (len(g.Entries) != 1 || !reflect.DeepEqual(g.Entries[0], *want)):
			t.Errorf("%s:\n%+v, want\n%+v", line, g.Entries, *want)
		}
	}
	var g Grants
	g.Read([]string{"", "GRANT", "nonsense", "GRANT SELECT ON `s.* TO u", "GRANT SELECT ON s TO u", "GRANT SELECT ON s.t.u TO v"})
	if len(g.Unread) != 6 || len(g.Entries) > 0 {
		t.Errorf("%+v", g)
	}
}

func grantsOf(lines ...string) Grants {
	var g Grants
	g.Read(lines)
	return g
}

func TestGrantsOn(t *testing.T) {
	all := grantsOf("GRANT ALL PRIVILEGES ON *.* TO u")
	restricted := grantsOf("GRANT SELECT, INSERT ON *.* TO u", "REVOKE INSERT ON `shop`.* FROM u")
	schemas := grantsOf("GRANT USAGE ON *.* TO u", "GRANT SELECT ON `sh%`.* TO u", "GRANT SELECT, INSERT ON `shop`.* TO u",
		"GRANT DELETE ON `shop`.`orders` TO u")
	literal := grantsOf("GRANT SELECT ON `my_db`.* TO u", "GRANT SELECT ON `other\\_db`.* TO u")
	literal.LiteralNames = true
	roles := grantsOf("GRANT SELECT ON `shop`.* TO u", "GRANT INSERT ON `sh%`.* TO u")
	roles.AllMatches = true
	for _, c := range []struct {
		name                     string
		grants                   Grants
		privilege, schema, table string
		want                     bool
	}{
		{"all", all, "SELECT", "shop", "orders", true},
		{"all", all, "TRIGGER", "shop", "", true},
		{"global", restricted, "SELECT", "shop", "orders", true},
		{"partial revoke", restricted, "INSERT", "shop", "orders", false},
		{"partial revoke elsewhere", restricted, "INSERT", "shop2", "orders", true},
		{"schema", schemas, "INSERT", "shop", "orders", true},
		{"table", schemas, "DELETE", "shop", "orders", true},
		{"other table", schemas, "DELETE", "shop", "orders_shadow", false},
		{"table for the whole schema", schemas, "DELETE", "shop", "", false},
		{"pattern", schemas, "SELECT", "stock", "x", false},
		{"pattern", schemas, "SELECT", "shoe", "x", true},
		{"more specific pattern hides", schemas, "INSERT", "shoe", "x", false},
		{"literal", literal, "SELECT", "my_db", "x", true},
		{"literal", literal, "SELECT", "my1db", "x", false},
		{"literal, escaped", literal, "SELECT", "other_db", "x", true},
		{"roles add up", roles, "SELECT", "shop", "x", true},
		{"roles add up", roles, "INSERT", "shop", "x", true},
		{"unchecked", Grants{Unchecked: true}, "SELECT", "shop", "x", true},
		{"nothing", Grants{}, "SELECT", "shop", "x", false},
	} {
		if got := c.grants.On(c.privilege, c.schema, c.table); got != c.want {
			t.Errorf("%s: %s on %s.%s: %v", c.name, c.privilege, c.schema, c.table, got)
		}
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"shop", "shop", true}, {"shop", "shop1", false}, {"shop1", "shop", false}, {"", "", true}, {"", "a", false},
		{"sh_p", "shop", true}, {"sh_p", "shp", false}, {`sh\_p`, "shop", false}, {`sh\_p`, "sh_p", true},
		{"%", "", true}, {"%", "x", true}, {"sh%", "shop", true}, {"%op", "shop", true}, {"%o%", "shop", true},
		{"a%b%c", "axbxbxc", true}, {"a%b%c", "axbxbx", false}, {`a\%`, "a%", true}, {`a\%`, "ab", false},
		{"_", "é", true}, {"%語", "日本語", true}, {`a\`, `a\`, true}, {"%%a", "a", true},
		{strings.Repeat("%a", 60), strings.Repeat("a", 59), false},
	} {
		if got := like(c.pattern, c.name); got != c.want {
			t.Errorf("%q like %q: %v", c.name, c.pattern, got)
		}
	}
}

func FuzzReadGrants(f *testing.F) {
	for _, line := range []string{"GRANT SELECT ON *.* TO u", "GRANT SELECT (a), INSERT ON `a\\_b`.`c` TO 'u'@'%' WITH GRANT OPTION",
		"REVOKE SELECT ON `a`.* FROM `u`@`%`", "GRANT PROXY ON ''@'' TO u", "GRANT `r`@`%` TO `u`@`%`", "GRANT EXECUTE ON PROCEDURE a.b TO u"} {
		f.Add(line, "a_b", "c")
	}
	f.Fuzz(func(t *testing.T, line, schema, table string) {
		g := grantsOf(line)
		if len(g.Entries)+len(g.Unread) > 1 {
			t.Fatalf("%+v", g)
		}
		if g.On("SELECT", schema, table) && !strings.Contains(strings.ToUpper(line), "SELECT") &&
			!strings.Contains(strings.ToUpper(line), "ALL") {
			t.Fatalf("SELECT out of nothing: %+v", g)
		}
	})
}
