package syntax

type Store interface { Do( error }
