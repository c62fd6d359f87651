// Package native has the server itself change a table: it asks on an empty clone how the server
// would do it (Ask), and has it done under the bounded lock (Run).
package native
