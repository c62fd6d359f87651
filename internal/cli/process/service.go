package process

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"midstream/internal/cli/flags"
	"midstream/internal/ops/queue"
)

// ServiceFlags say where midstream serve is, and who asks.
type ServiceFlags struct {
	At    string
	token TokenFlag
	ca    string
	named func() bool // the command line names the service, or its token
}

// Register adds the flags.
func (s *ServiceFlags) Register(f *flags.Set) {
	f.Flags.StringVar(&s.At, "service", "http://"+UsualListen, "URL of midstream serve")
	f.Flags.StringVar(&s.At, "to", "http://"+UsualListen, "former name of --service; it works as before")
	s.token.Register(f)
	s.named = func() bool {
		return f.Flags.Changed("service") || f.Flags.Changed("to") || f.Flags.Changed("token-file")
	}
	f.Flags.StringVar(
		&s.ca, "tls-ca", "",
		"PEM file of the certificates that sign the service's certificate, in addition to those of this machine",
	)
}

// Client is a client of the service, with all that is wrong with the flags.
func (s *ServiceFlags) Client(p *Process) (c *queue.Client, problems []error) {
	at, err := url.Parse(s.At)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		problems = append(problems, fmt.Errorf("--service %s: must be a URL that begins with http:// or https://", s.At))
	}
	trusting, err := queue.Trusting(s.ca)
	if err != nil {
		problems = append(problems, fmt.Errorf("--tls-ca %s: %w", s.ca, err))
	}
	return &queue.Client{At: s.At, HTTP: trusting, Token: func() (string, error) { return s.read(p) }}, problems
}

// read reads the token. Without a name, the service is the one that this user has begun on this machine: it has made the token.
func (s *ServiceFlags) read(p *Process) (string, error) {
	token, err := s.token.Read(p)
	if errors.Is(err, fs.ErrNotExist) && !s.named() {
		return "", queue.ErrUnnamed
	}
	return token, err
}
