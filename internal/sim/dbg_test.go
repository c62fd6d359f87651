package sim
import ("testing";"fmt")
func TestDbg(t *testing.T){
	n := map[string]int{}
	for s := uint64(1); s<6000; s++ {
	o := RandomOptions(s,600); o.Kind=5
	_, v := Run(s,o,LooseBounds)
	if v == nil {continue}
	n[v.Law]++
	if n[v.Law]==1{fmt.Println(v.Error()[:min(300,len(v.Error()))], v.Rerun())
	}}
	fmt.Println(n)
}
