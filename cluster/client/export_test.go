package client

// SetLastXID sets the id given last on the connection in use.
func (c *Client) SetLastXID(xid int32) {
	cn := c.current.Load()
	cn.mu.Lock()
	defer cn.mu.Unlock()
	cn.pending.last = xid
}

// Slots returns how many places the table of the connection in use has.
func (c *Client) Slots() int {
	cn := c.current.Load()
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return len(cn.pending.slots)
}
