// Package inventory knows the servers of a fleet and their labels. It reads them from a folder with an option file for
// each server, or from what a program prints, and reads them again while it is used.
//
//	[client]
//	host = shard-017.db
//	[midstream]
//	labels = env=prod,app=shop,shard=017
//
// A file that is wrong is named, and hides no other one. While the fleet is watched, such a server keeps what was last known of
// it: only a server whose file is gone has left.
package inventory
