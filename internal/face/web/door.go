package web

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"midstream/internal/mysql/schema"
	"midstream/internal/ops/access"
)

// Door says where the server serves pages, and who may see them. Its fields have the names of the flags.
type Door struct {
	// Listen is an address and a port, such as 127.0.0.1:8080; port 0 is any that is free.
	Listen string
	// TokenFile has the token in its first line. Defaults to a file in Folder, which the server creates.
	TokenFile string
	// Folder is the folder of the token if TokenFile is empty: $XDG_STATE_HOME/midstream.
	Folder string
	// Tokens is a file of tokens with names and roles (ops/access); "" for none. With it, there is a single token only if TokenFile
	// names one.
	Tokens string
	// Note gets what is wrong with Tokens later; it may be nil.
	Note func(text string)
	// Certificate and Key are files in PEM form; both or neither.
	Certificate, Key string
	// InsecureHTTP lets the server listen for other machines without TLS.
	InsecureHTTP bool
}

// shortestToken is the minimal length of a token: no one guesses sixteen random characters through a network.
const shortestToken = 16

// Check returns every error in the flags. It reads no file.
func (d Door) Check() error {
	var wrong []error
	if d.Listen == "" {
		for _, flag := range []struct {
			name string
			is   bool
		}{{"token-file", d.TokenFile != ""}, {"tls-cert", d.Certificate != ""}, {"tls-key", d.Key != ""}, {"insecure-http", d.InsecureHTTP}} {
			if flag.is {
				wrong = append(wrong, fmt.Errorf("--%s has no effect without --listen", flag.name))
			}
		}
		return errors.Join(wrong...)
	}
	host, _, err := net.SplitHostPort(d.Listen)
	if err != nil {
		wrong = append(wrong, fmt.Errorf("--listen: %q must be an address with a port, such as 127.0.0.1:8080", d.Listen))
	}
	if (d.Certificate == "") != (d.Key == "") {
		wrong = append(wrong, errors.New("--tls-cert and --tls-key must be set together"))
	}
	if err == nil && !loopback(host) {
		if d.TokenFile == "" && d.Tokens == "" {
			wrong = append(
				wrong,
				fmt.Errorf("--listen %s: other machines can reach this address: name a file with a token by --token-file", d.Listen),
			)
		}
		if d.Certificate == "" && !d.InsecureHTTP {
			wrong = append(
				wrong,
				fmt.Errorf("--listen %s: other machines can reach this address: set --tls-cert and --tls-key; "+
					"or add --insecure-http, and everyone on the network path can read the token", d.Listen),
			)
		}
	}
	return errors.Join(wrong...)
}

// Closed is why the pages cannot be served, with what to do.
type Closed struct {
	Err  error
	Next string
}

func (c *Closed) Error() string { return c.Err.Error() }
func (c *Closed) Unwrap() error { return c.Err }

// writeToken is what to do about a file that has no token.
func writeToken(path string) string {
	file := schema.Shell(path)
	return "write a token to the file: (umask 077; openssl rand -hex 32 > " + file + "); or leave --token-file out, and one is made"
}

// loopback reports whether a host is certainly this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// book opens the file of tokens with names; nil for none.
func (d Door) book() (*access.Book, error) {
	if d.Tokens == "" {
		return nil, nil
	}
	book, err := access.Open(d.Tokens, d.Note)
	if err != nil {
		return nil, &Closed{
			fmt.Errorf("cannot read --tokens: %w", err),
			"check the file; midstream token ann --role all --tokens " + schema.Shell(d.Tokens) + " makes a token and adds its line",
		}
	}
	return book, nil
}

// token reads or creates the single token, and returns it with its path; "" if there is none.
func (d Door) token() (token, path string, err error) {
	path = d.TokenFile
	if path == "" && d.Tokens != "" {
		return "", "", nil
	}
	if path == "" {
		if path, err = keptToken(d.Folder); err != nil {
			return "", "", err
		}
	}
	if token, err = TokenIn(path); err != nil {
		next := "check --token-file, and that this user may read the file"
		if errors.Is(err, fs.ErrNotExist) {
			next = writeToken(path)
		}
		return "", "", &Closed{fmt.Errorf("cannot read the token: %w", err), next}
	}
	if len(token) < shortestToken {
		return "", "", &Closed{
			fmt.Errorf("the token in %s has %d characters: the first line must have at least %d", path, len(token), shortestToken),
			writeToken(path),
		}
	}
	return token, path, nil
}

// TokenIn returns the token in a file: its first line.
func TokenIn(path string) (string, error) {
	text, err := os.ReadFile(path)
	token, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(token), err
}

// keptToken creates the file of the token if it does not exist, and returns its path.
func keptToken(folder string) (path string, err error) {
	if folder == "" {
		return "", errors.New("no folder to keep a token in: name a file with a token by --token-file")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("create the folder of the token: %w", err)
	}
	path = filepath.Join(folder, "token")
	draft, err := os.CreateTemp(folder, ".token") // 0600
	if err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.WriteString(rand.Text() + rand.Text() + "\n")
	if err = errors.Join(err, draft.Close()); err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	// The link makes a complete file appear at once; if two servers start, the first one wins.
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("create a token: %w", err)
	}
	return path, nil
}

// listen opens the port.
func (d Door) listen() (net.Listener, *crowd, error) {
	var secure *tls.Config
	if d.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(d.Certificate, d.Key)
		if err != nil {
			return nil, nil, &Closed{
				fmt.Errorf("cannot read --tls-cert and --tls-key: %w", err), "check both: each must be a PEM file that this user may read",
			}
		}
		secure = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	}
	listener, err := net.Listen("tcp", d.Listen)
	if err != nil {
		return nil, nil, &Closed{
			fmt.Errorf("cannot serve pages: %w", err), "name another address by --listen, or stop the process that uses the port",
		}
	}
	crowd := newCrowd(listener, fewer(mostConnections))
	if secure != nil {
		return tls.NewListener(crowd, secure), crowd, nil
	}
	return crowd, crowd, nil
}
