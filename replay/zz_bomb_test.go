package replay_test
import ("testing";"time";"runtime";"github.com/tidegate-go/tidegate/replay")
func TestBomb(t *testing.T){
 for name,rules:=range map[string]string{
 "flow":`"flow":[{"resource":"r","count":1,"statIntervalInMs":2000000000,"statBucketCount":2000000000}]`,
 "degrade":`"degrade":[{"resource":"r","count":1,"timeWindow":1,"statIntervalMs":2000000000,"statBucketCount":2000000000}]`,
 "probe":`"degrade":[{"resource":"r","count":1,"timeWindow":1,"probeNum":2000000000}]`,
 "param":`"paramFlow":[{"resource":"r","count":1,"paramIdx":0,"paramsMaxCapacity":2000000000000}]`,
 "warm":`"flow":[{"resource":"r","count":1e300,"controlBehavior":1,"warmUpPeriodSec":2000000000}]`,
 "inf":`"flow":[{"resource":"r","count":1e308,"controlBehavior":3,"warmUpPeriodSec":2000000000},{"resource":"r","count":1e-308,"controlBehavior":3,"warmUpPeriodSec":2000000000,"maxQueueingTimeMs":2000000000}]`,
 }{
  s,err:=replay.Parse([]byte(`{"name":"t","startMs":1700000000000,"rules":{`+rules+`},"steps":[{"atMs":1700000000000,"op":"enter","id":"a","resource":"r","args":[{"t":"int","v":1}],"autoExit":true,"expect":{"decision":"pass"}},{"atMs":1800000000000,"op":"enter","id":"a","resource":"r","args":[{"t":"int","v":1}],"autoExit":true,"expect":{"decision":"pass"}}]}`))
  if err!=nil{t.Error(err);continue}
  var m0,m1 runtime.MemStats; runtime.ReadMemStats(&m0)
  st:=time.Now(); r:=replay.Verify(s,replay.Options{}); runtime.ReadMemStats(&m1)
  t.Log(name,time.Since(st),(m1.TotalAlloc-m0.TotalAlloc)>>20,"MB",r.Verdict,r.Err)
 }
}
