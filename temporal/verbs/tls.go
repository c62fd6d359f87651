package verbs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"go.temporal.io/sdk/client"

	"midstream/internal/cli/flags"
)

// tlsFlags are for Temporal with TLS.
type tlsFlags struct{ ca, cert, key string }

func (t *tlsFlags) register(f *flags.Set) {
	f.Flags.StringVar(&t.ca, "temporal-ca", "", "PEM file of the certificates that sign Temporal's certificate; with it, the connection has TLS")
	f.Flags.StringVar(&t.cert, "temporal-cert", "", "PEM file of this client's certificate")
	f.Flags.StringVar(&t.key, "temporal-key", "", "PEM file of the key of --temporal-cert")
}

func (t *tlsFlags) options() (client.ConnectionOptions, error) {
	var o client.ConnectionOptions
	if t.ca == "" && t.cert == "" && t.key == "" {
		return o, nil
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.ca != "" {
		text, err := os.ReadFile(t.ca)
		if err != nil {
			return o, err
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(text) {
			return o, errors.New("--temporal-ca: the file has no certificate")
		}
	}
	if t.cert != "" || t.key != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return o, err
		}
		o.TLS.Certificates = []tls.Certificate{pair}
	}
	return o, nil
}
