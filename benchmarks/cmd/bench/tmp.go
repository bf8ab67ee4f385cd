package main
import ("fmt";"os";"time";"github.com/tidegate-go/tidegate/benchmarks/figure")
func main(){ for _,f:=range figure.All(){ if len(os.Args)>1 && os.Args[1]!=f.Name {continue}; t:=time.Now(); v,err:=f.Measure(); fmt.Println(f.Name,v,f.Unit,err,time.Since(t)) } }
