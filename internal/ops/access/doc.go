// Package access knows who may ask a service for what: persons with tokens, and their roles.
//
// A file has a line for each token: a name, the roles, and the digest of the token. It has no
// token, so a reader of the file cannot log in. Tokens are random and long, so a fast digest
// suffices. The file is read again when it changes.
package access
