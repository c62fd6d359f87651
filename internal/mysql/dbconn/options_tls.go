package dbconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// SSLMode is how a connection is encrypted, in the words of MySQL's --ssl-mode.
type SSLMode string

// The modes.
const (
	SSLDisabled       SSLMode = "DISABLED"
	SSLPreferred      SSLMode = "PREFERRED" // if the server can; not over a socket
	SSLRequired       SSLMode = "REQUIRED"  // nothing is verified
	SSLVerifyCA       SSLMode = "VERIFY_CA"
	SSLVerifyIdentity SSLMode = "VERIFY_IDENTITY" // the certificate is also the host's
)

// ParseSSLMode reads a mode, in any letter case.
func ParseSSLMode(text string) (SSLMode, error) {
	switch mode := SSLMode(strings.ToUpper(text)); mode {
	case SSLDisabled, SSLPreferred, SSLRequired, SSLVerifyCA, SSLVerifyIdentity:
		return mode, nil
	}
	return "", errors.New("must be DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")
}

// tls returns the TLS settings, nil for none, and whether to continue without TLS if the server has
// none. The effect of each mode was tried with the client of MySQL 9.7.4. There an ssl-ca without a
// mode means VERIFY_CA, and PREFERRED and REQUIRED ignore it.
func (o Options) tls(network string) (config *tls.Config, fallback bool, err error) {
	mode := o.SSLMode
	switch {
	case mode == "" && o.SSLCA != "":
		mode = SSLVerifyCA
	case mode == "":
		mode = SSLPreferred
	}
	if mode == SSLDisabled || mode == SSLPreferred && network == "unix" {
		return nil, false, nil
	}
	var problems []error
	// Certificates are verified by verify: Go's own rules want the host's name in places
	// where servers that made their certificates themselves don't have it.
	config = &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites(), InsecureSkipVerify: true}
	if mode == SSLVerifyCA || mode == SSLVerifyIdentity {
		roots, err := o.roots()
		problems = append(problems, err)
		host := ""
		if mode == SSLVerifyIdentity {
			host = or(o.Host, "localhost")
		}
		config.VerifyConnection = func(state tls.ConnectionState) error { return verify(state, roots, host) }
	}
	if o.SSLCert != "" || o.SSLKey != "" {
		// MySQL's clients take a file that holds both for either.
		pair, err := tls.LoadX509KeyPair(or(o.SSLCert, o.SSLKey), or(o.SSLKey, o.SSLCert))
		if err != nil {
			problems = append(problems, fmt.Errorf("ssl-cert and ssl-key: %w", err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, mode == SSLPreferred, errors.Join(problems...)
}

// suites adds key exchange by RSA to Go's own list. Servers built with the TLS library of 2018
// (8.0.12) have no other suite in common with Go.
func suites() []uint16 {
	ids := []uint16{
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	}
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return ids
}

func (o Options) roots() (*x509.CertPool, error) {
	if o.SSLCA == "" {
		return nil, errors.New("ssl-ca is missing: VERIFY_CA and VERIFY_IDENTITY verify against it")
	}
	text, err := os.ReadFile(o.SSLCA)
	if err != nil {
		return nil, fmt.Errorf("ssl-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ssl-ca: no certificate in %s", o.SSLCA)
	}
	return roots, nil
}

// verify checks that the server's certificate is signed by one of the roots and, unless
// host is "", issued for the host.
func verify(state tls.ConnectionState, roots *x509.CertPool, host string) error {
	server := state.PeerCertificates[0]
	others := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		others.AddCert(c)
	}
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others}); err != nil {
		return fmt.Errorf("no certificate in ssl-ca has signed the server's certificate: %w", err)
	}
	if host == "" {
		return nil
	}
	if err := named(server).VerifyHostname(host); err != nil {
		return fmt.Errorf("the server's certificate (%s) is not for the host %s: %w", server.Subject, host, err)
	}
	return nil
}

// named returns the certificate with its common name as a host's name, if it has no other. OpenSSL
// does so and Go doesn't.
func named(c *x509.Certificate) *x509.Certificate {
	if len(c.DNSNames) > 0 || c.Subject.CommonName == "" || net.ParseIP(c.Subject.CommonName) != nil {
		return c
	}
	copied := *c
	copied.DNSNames = []string{c.Subject.CommonName}
	return &copied
}
