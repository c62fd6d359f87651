// Package native lets the server itself change a table: Ask finds out on an empty clone how the
// server would do it, and Run does it under the bounded lock.
package native
