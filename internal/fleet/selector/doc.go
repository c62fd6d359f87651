// Package selector chooses servers by their labels, as Kubernetes chooses objects.
//
//	app=shop,env=prod            each condition must hold
//	shard!=031                   a server without the label shard is chosen, too
//	cell in (eu1, eu2)           also: cell notin (eu1, eu2)
//	canary, !retired             the label exists, does not exist
//	*                            every server
package selector
