package process

import (
	"fmt"
	"net/url"

	"midstream/internal/cli/flags"
	"midstream/internal/ops/queue"
)

// ServiceFlags say where midstream serve is, and who asks.
type ServiceFlags struct {
	At    string
	token TokenFlag
	ca    string
}

// Register adds the flags.
func (s *ServiceFlags) Register(f *flags.Set) {
	f.Flags.StringVar(&s.At, "service", "http://"+UsualListen, "URL of midstream serve")
	f.Flags.StringVar(&s.At, "to", "http://"+UsualListen, "former name of --service; it works as before")
	s.token.Register(f)
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
	return &queue.Client{At: s.At, HTTP: trusting, Token: func() (string, error) { return s.token.Read(p) }}, problems
}
