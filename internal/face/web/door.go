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
)

// Door says where pages are served, and who may see them, in the words of the flags.
type Door struct {
	// Listen is an address and a port, such as 127.0.0.1:8080; port 0 is any that is free.
	Listen string
	// TokenFile holds the token that opens the door, in its first line. Defaults to one that is
	// made and kept in Folder.
	TokenFile string
	// Folder is where a token is kept that nobody has named a file for: $XDG_STATE_HOME/midstream.
	Folder string
	// Certificate and Key are files in PEM form; both or neither.
	Certificate, Key string
	// InsecureHTTP lets it listen beyond this machine without TLS.
	InsecureHTTP bool
}

// shortestToken is the least number of characters of a token: sixteen random ones can't be guessed through a network.
const shortestToken = 16

// Check says all that is wrong with the flags, without a look at any file.
func (d Door) Check() error {
	var wrong []error
	if d.Listen == "" {
		for _, flag := range []struct {
			name string
			is   bool
		}{{"token-file", d.TokenFile != ""}, {"tls-cert", d.Certificate != ""}, {"tls-key", d.Key != ""}, {"insecure-http", d.InsecureHTTP}} {
			if flag.is {
				wrong = append(wrong, fmt.Errorf("--%s has no meaning without --listen", flag.name))
			}
		}
		return errors.Join(wrong...)
	}
	host, _, err := net.SplitHostPort(d.Listen)
	if err != nil {
		wrong = append(wrong, fmt.Errorf("--listen: %q is no address with a port, such as 127.0.0.1:8080", d.Listen))
	}
	if (d.Certificate == "") != (d.Key == "") {
		wrong = append(wrong, errors.New("--tls-cert and --tls-key belong together"))
	}
	if err == nil && !loopback(host) {
		if d.TokenFile == "" {
			wrong = append(
				wrong,
				fmt.Errorf("--listen %s can be reached from other machines: --token-file must name the file of a token", d.Listen),
			)
		}
		if d.Certificate == "" && !d.InsecureHTTP {
			wrong = append(
				wrong,
				fmt.Errorf("--listen %s can be reached from other machines: give --tls-cert and --tls-key, or say --insecure-http, "+
					"and everybody on the way can read the token", d.Listen),
			)
		}
	}
	return errors.Join(wrong...)
}

// loopback says that a host is this machine for sure.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// token reads the token, or makes one, and says where it is.
func (d Door) token() (token, path string, err error) {
	path = d.TokenFile
	if path == "" {
		if path, err = keptToken(d.Folder); err != nil {
			return "", "", err
		}
	}
	if token, err = TokenIn(path); err != nil {
		return "", "", fmt.Errorf("read the token: %w", err)
	}
	if len(token) < shortestToken {
		return "", "", fmt.Errorf(
			"the token in %s has %d characters: it must have %d at least, in the first line (openssl rand -hex 32)",
			path, len(token), shortestToken,
		)
	}
	return token, path, nil
}

// TokenIn is the token in a file: its first line.
func TokenIn(path string) (string, error) {
	text, err := os.ReadFile(path)
	token, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(token), err
}

// keptToken makes the file of a token, where there is none yet.
func keptToken(folder string) (path string, err error) {
	if folder == "" {
		return "", errors.New("there is no folder to keep a token in: --token-file must name the file of one")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the token: %w", err)
	}
	path = filepath.Join(folder, "token")
	draft, err := os.CreateTemp(folder, ".token") // 0600
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.WriteString(rand.Text() + rand.Text() + "\n")
	if err = errors.Join(err, draft.Close()); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	// Whole from the beginning, and the one of whoever comes first.
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return path, nil
}

// listen opens the port.
func (d Door) listen() (net.Listener, *crowd, error) {
	var secure *tls.Config
	if d.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(d.Certificate, d.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("read --tls-cert and --tls-key: %w", err)
		}
		secure = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	}
	listener, err := net.Listen("tcp", d.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("serve pages: %w", err)
	}
	crowd := newCrowd(listener, fewer(mostConnections))
	if secure != nil {
		return tls.NewListener(crowd, secure), crowd, nil
	}
	return crowd, crowd, nil
}
