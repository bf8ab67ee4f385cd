package figure
import ("testing";"time")
func TestDay(t *testing.T){ for _,m:=range []int{40} { s:=time.Now(); v,err:=Days(time.Duration(m)*time.Minute,5000); t.Log(m,v,err,time.Since(s)) } }
func TestFlood(t *testing.T){ v,err:=NewNamesGrowth(10000,1000000); t.Log(v,err) }
