package hotspot

// itemLimits returns the limits of a rule's exception items by value, nil if there are none. Items that do not parse
// are left out (Rule.Warnings names them); later items override earlier ones for the same value.
func itemLimits(rule *Rule) map[Key]*limit {
	var limits map[Key]*limit
	for _, item := range rule.Items {
		arg, err := item.Value()
		if err != nil {
			continue
		}
		if limits == nil {
			limits = make(map[Key]*limit, len(rule.Items))
		}
		key, _ := ScalarKey(arg)
		l := newLimit(float64(item.Count), rule)
		if l.place = len(limits); limits[key] != nil {
			l.place = limits[key].place
		}
		limits[key] = &l
	}
	return limits
}
