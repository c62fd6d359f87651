// Package token splits SQL text into tokens, without a grammar.
//
// It knows what MySQL's own lexer knows before any meaning: quoted identifiers,
// string literals with both ways of escaping, the three kinds of comment, and
// executable comments, whose content is code. Every token knows its place in the
// text, so that a caller can cut out exact bytes. It never fails: a quote that is
// not closed is a token that says so (Unclosed).
//
// It is used where a parser is too much or can't read the text: SHOW CREATE TABLE,
// SHOW GRANTS, statements of a newer server.
package token
