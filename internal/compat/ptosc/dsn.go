package ptosc

import (
	"fmt"
	"strings"
)

// DSN says how to reach a server, and which table is meant.
type DSN struct {
	Host, Port, User, Socket, File, SSL string // "" where none is said
	Password                            *string
	Charset, Database, Table            string
	CA, Cert, Key                       string // files of TLS, which only the host can name
}

// parseDSN reads h=host,P=port and so on; a word without a key is the host. What it does not say is taken from below.
func parseDSN(text string, below DSN) (DSN, error) {
	d := below
	for _, part := range splitList(text) {
		key, value, is := strings.Cut(part, "=")
		if !is || len(key) != 1 {
			key, value = "h", part
		}
		switch key {
		case "A":
			d.Charset = value
		case "D":
			d.Database = value
		case "F":
			d.File = value
		case "h":
			d.Host = value
		case "p":
			d.Password = &value
		case "P":
			d.Port = value
		case "S":
			d.Socket = value
		case "s":
			d.SSL = value
		case "t":
			d.Table = value
		case "u":
			d.User = value
		default:
			return DSN{}, fmt.Errorf("Unknown DSN option '%s' in '%s'.  For more details, please use the --help option", key, hidden(text))
		}
	}
	return d, d.driver()
}

// driver reads what follows the host and a semicolon. There it goes to Perl's driver, and Departure puts the settings of TLS there.
func (d *DSN) driver() error {
	host, settings, has := strings.Cut(d.Host, ";")
	if !has {
		return nil
	}
	said := d.Host
	d.Host = host
	for setting := range strings.SplitSeq(settings, ";") {
		key, value, _ := strings.Cut(setting, "=")
		switch strings.TrimSpace(key) {
		case "":
		case "mysql_ssl":
			d.SSL = value
		case "mysql_ssl_ca_file", "mysql_ssl_client_ca":
			d.CA = value
		case "mysql_ssl_client_cert":
			d.Cert = value
		case "mysql_ssl_client_key":
			d.Key = value
		case "mysql_socket":
			d.Socket = value
		case "port":
			d.Port = value
		default:
			return fmt.Errorf("Unknown setting '%s' of the host '%s'", key, said)
		}
	}
	return nil
}

// hidden is a DSN as it may be shown: without its password.
func hidden(text string) string {
	parts := splitList(text)
	for i, part := range parts {
		if strings.HasPrefix(part, "p=") {
			parts[i] = "p=..."
		}
	}
	return strings.Join(parts, ",")
}

// splitList splits at commas that have no backslash before them, and takes these backslashes off.
func splitList(text string) []string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == ',':
			part.WriteByte(',')
			i++
		case text[i] == ',':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	return append(parts, part.String())
}

// Secrets are the arguments that have a password, by their numbers, and where in them it begins.
func Secrets(args []string) map[int]int {
	found := map[int]int{}
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		switch {
		case strings.HasPrefix(arg, "--") && strings.Contains(strings.SplitN(arg, "=", 2)[0], "pass") && strings.Contains(arg, "="):
			found[i] = strings.IndexByte(arg, '=') + 1
		case strings.HasPrefix(before, "--") && strings.Contains(before, "pass") && !strings.Contains(before, "=") && before != "--ask-pass",
			before == "-p":
			found[i] = 0
		case strings.HasPrefix(arg, "-p") && len(arg) > 2:
			found[i] = 2
		case strings.HasPrefix(arg, "p="):
			found[i] = 2
		case strings.Contains(arg, ",p="):
			found[i] = strings.Index(arg, ",p=") + 3
		}
	}
	return found
}
