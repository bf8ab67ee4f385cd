package circuitbreaker

import (
	"math"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// Explain tells what opened the breaker and when it lets a probe through.
func (k *check) Explain() chain.Explanation {
	e := chain.Explanation{Limit: k.rule.Count, Unit: "ratio"}
	switch k.rule.Grade {
	case SlowRatio:
		e.Limit = k.rule.SlowRatio()
	case ErrorCount:
		e.Unit = "errors"
	case ErrorRatio:
	}
	interval, _ := k.rule.Window()
	e.Window = interval
	value, retryAt := k.breaker.Tripped()
	e.Measured = value
	if now := k.slot.now(); retryAt > now {
		e.RetryAfter = time.Duration(retryAt - now)
	}
	return e
}

// Tripped returns the ratio or number of errors that opened the breaker last and RetryAt.
func (b *Breaker) Tripped() (value float64, retryAt int64) {
	return math.Float64frombits(b.tripped.Load()), b.RetryAt()
}
