// Package authority holds the rules about who may call: white and black lists of origins, one per resource.
package authority
