package builtin
type section struct{start,end int}
func (s section) in(t string) string {return t[s.start:s.end]}
func splitSentences(t string) []section { return []section{{0,len(t)}} }
