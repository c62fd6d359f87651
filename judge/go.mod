module midstream/judge

go 1.26.8

require midstream v0.0.0

require golang.org/x/sync v0.24.0 // indirect

replace midstream => ../
