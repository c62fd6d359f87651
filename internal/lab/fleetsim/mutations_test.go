package fleetsim

import "flag"

var mutantFlag = flag.Bool("fleetsim.mutant", false, "the core is a mutant: print one failure only")
