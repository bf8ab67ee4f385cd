package stat

// Recent is what a node's second-level window says now, read without a lock: counts that change meanwhile may be
// seen in part.
type Recent struct {
	Success int64
	RT      int64 // ns, sum
	MinRT   int64 // ns
	Best    int64 // successes of the best bucket, at least 1
}

// Recent reads the window at time now. It allocates nothing.
func (n *Node) Recent(now int64) Recent {
	shape := n.first.Load().shape
	oldest := shape.oldest(now)
	sum := Recent{MinRT: n.scope.MaxRT(), Best: 1}
	for start := oldest; start <= now; start += shape.length {
		var bucket int64
		if more := n.more.Load(); more != nil {
			for _, r := range *more {
				bucket += r.recent(start, shape.length, &sum)
			}
		} else {
			bucket = n.first.Load().recent(start, shape.length, &sum)
		}
		sum.Best = max(sum.Best, bucket)
	}
	return sum
}

// recent adds the counts of the buckets within length from start and returns their successes.
func (r *ring) recent(start, length int64, sum *Recent) (success int64) {
	for i := range r.buckets {
		b := &r.buckets[i]
		if at := b.start.Load(); at < start || at >= start+length {
			continue
		}
		units, rt := b.completed()
		success += units
		sum.RT += rt
		sum.MinRT = min(sum.MinRT, b.minRT.Load())
	}
	sum.Success += success
	return success
}
