package dbconn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{key: key, file: filepath.Join(t.TempDir(), "ca.pem")}
	a.certificate = a.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, Subject: pkix.Name{CommonName: "CA"}})
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
	if err := os.WriteFile(a.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign signs a certificate with the authority's key. If the authority has no certificate yet, it
// signs its own.
func (a authority) sign(t *testing.T, c *x509.Certificate) *x509.Certificate {
	t.Helper()
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.certificate
	if parent == nil {
		parent = c
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// TestVerify tries what a server's certificate may contain, and how each mode judges it. The client
// of MySQL leaves the comparison of names to OpenSSL, which uses the common name as the host's name
// if the certificate has no other.
func TestVerify(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	byCommonName := ca.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "db1.example"}})
	byName := ca.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "db9"}, DNSNames: []string{"db1.example", "*.wild.example"}})
	foreign := other.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "db1.example"}})
	for _, c := range []struct {
		name string
		mode SSLMode
		host string
		cert *x509.Certificate
		good bool
	}{
		{"CA, whatever the host", SSLVerifyCA, "db7", byCommonName, true},
		{"CA, signed by another", SSLVerifyCA, "db1.example", foreign, false},
		{"identity by common name", SSLVerifyIdentity, "db1.example", byCommonName, true},
		{"identity, another common name", SSLVerifyIdentity, "db2.example", byCommonName, false},
		{"identity by name", SSLVerifyIdentity, "db1.example", byName, true},
		{"identity by wildcard", SSLVerifyIdentity, "a.wild.example", byName, true},
		{"common name doesn't count beside names", SSLVerifyIdentity, "db9", byName, false},
		{"identity, signed by another", SSLVerifyIdentity, "db1.example", foreign, false},
	} {
		config, fallback, err := Options{Host: c.host, SSLMode: c.mode, SSLCA: ca.file}.tls("tcp")
		if err != nil || fallback {
			t.Fatal(fallback, err)
		}
		err = config.VerifyConnection(tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.cert}})
		if (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSSLModes compares with what mysql 9.7.4 does for the same flags.
func TestSSLModes(t *testing.T) {
	ca := newAuthority(t).file
	for _, c := range []struct {
		options                   Options
		network                   string
		encrypts, falls, verifies bool
	}{
		{Options{}, "tcp", true, true, false},
		{Options{}, "unix", false, false, false},
		{Options{SSLMode: SSLDisabled, SSLCA: ca}, "tcp", false, false, false},
		{Options{SSLMode: SSLPreferred, SSLCA: ca}, "tcp", true, true, false},
		{Options{SSLMode: SSLPreferred}, "unix", false, false, false},
		{Options{SSLMode: SSLRequired}, "tcp", true, false, false},
		{Options{SSLMode: SSLRequired}, "unix", true, false, false},
		{Options{SSLMode: SSLRequired, SSLCA: ca}, "tcp", true, false, false},
		{Options{SSLCA: ca}, "tcp", true, false, true},
		{Options{SSLCA: ca}, "unix", true, false, true},
		{Options{SSLMode: SSLVerifyIdentity, SSLCA: ca}, "tcp", true, false, true},
	} {
		config, falls, err := c.options.tls(c.network)
		if err != nil {
			t.Errorf("%+v: %v", c.options, err)
			continue
		}
		verifies := config != nil && config.VerifyConnection != nil
		if (config != nil) != c.encrypts || falls != c.falls || verifies != c.verifies {
			t.Errorf("%+v over %s: encrypts %t, falls back %t, verifies %t", c.options, c.network, config != nil, falls, verifies)
		}
	}
	if _, _, err := (Options{SSLMode: SSLVerifyCA}).tls("tcp"); err == nil {
		t.Error("VERIFY_CA without ssl-ca was taken")
	}
	if _, err := ParseSSLMode("required"); err != nil {
		t.Error(err)
	}
}
