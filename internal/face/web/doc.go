// Package web shows changes in a browser: a list with a form, a page for each change that follows
// its run by server-sent events, and its report. It hands requests under /v1/ to whoever answers
// for the changes (the queue of midstream serve, or the one run of midstream run --listen), and is
// the only one that looks who may ask.
//
//	browser, curl ──> Host of this machine? ──> request of this site? ──> token or session? ──> /v1/  the API of the Source
//	                  (on loopback)             (unsafe methods)          (not /login, ...)  ├> /v1/changes/ID/events, report.*
//	                                                                                         └> pages, parts of pages, what else is mounted
//
// Nothing listens beyond this machine without a token of the operator's, and without TLS or his
// word for going without. A token never stands in an address, a log or a page; sessions live in
// memory, for at most sessionLife. Pages hold no script or style of their own and read nothing from
// anywhere else: the Content-Security-Policy says so to the browser. All texts are made safe by
// html/template, or set as text.
//
// What people read is spelled here, by internal/face/humanize and internal/face/report; the script only puts it
// in its place.
package web
