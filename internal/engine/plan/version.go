package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a server's version.
type Version struct {
	Major, Minor, Patch int
	MariaDB             bool
	Text                string // as in @@version
}

// ParseVersion parses @@version, such as "8.0.12", "9.7.4-2" or "5.5.5-10.11.6-MariaDB-log".
func ParseVersion(text string) (Version, error) {
	v := Version{Text: text, MariaDB: strings.Contains(strings.ToLower(text), "mariadb")}
	numbers := text
	if v.MariaDB {
		numbers = strings.TrimPrefix(numbers, "5.5.5-") // a prefix for old clients
	}
	numbers, _, _ = strings.Cut(numbers, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) < 3 {
		return Version{}, fmt.Errorf("server version %q can't be read", text)
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return Version{}, fmt.Errorf("server version %q can't be read", text)
		}
		*to = n
	}
	return v, nil
}

// AtLeast reports whether the version is this one or a later one, whatever the flavor.
func (v Version) AtLeast(major, minor, patch int) bool {
	if v.Major != major {
		return v.Major > major
	}
	if v.Minor != minor {
		return v.Minor > minor
	}
	return v.Patch >= patch
}

// Flavor is "MySQL" or "MariaDB".
func (v Version) Flavor() string {
	if v.MariaDB {
		return "MariaDB"
	}
	return "MySQL"
}

// String returns the flavor and the number.
func (v Version) String() string {
	return fmt.Sprintf("%s %d.%d.%d", v.Flavor(), v.Major, v.Minor, v.Patch)
}

// CopiesOnline reports whether ALTER TABLE ... ALGORITHM=COPY can follow changes that are made
// during the copy (https://mariadb.com/kb/en/innodb-online-ddl-operations-with-algorithm-copy/,
// MDEV-16329).
func (v Version) CopiesOnline() bool { return v.MariaDB && v.AtLeast(11, 2, 1) }

// DatesTriggers reports whether the server uses a trigger's date to decide whether a prepared
// statement knows it.
func (v Version) DatesTriggers() bool { return v.MariaDB }

// renamesUnderLock reports whether RENAME TABLE works under LOCK TABLES (WL#9826).
func (v Version) renamesUnderLock() bool { return !v.MariaDB && v.AtLeast(8, 0, 13) }

// WritersApart reports whether a session that writes a table needs no metadata lock of tables that
// foreign keys connect with it.
func (v Version) WritersApart() bool { return !v.MariaDB && !v.AtLeast(8, 0, 0) }

// CarriesForeign reports whether a table's own foreign keys can move to its shadow. On MySQL 8.0.12
// a RENAME asks for the parents' locks only when it has the table's lock: until then other sessions
// can take them.
func (v Version) CarriesForeign() bool {
	return v.renamesUnderLock() || v.MariaDB || v.WritersApart()
}
