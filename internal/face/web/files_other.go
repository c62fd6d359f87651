//go:build !unix

package web

func mostFiles() int { return 0 }
